#pragma once

namespace cortado {

/// Says that this process works alone on something long, such as a file, for which other ranks may wait. Their waits
/// count it as progress. It costs little; long work calls it every second or more often.
void pulse();

/// Sets the action of `pulse`. nullptr, the default, means no action; comm sets one.
void set_pulse(void (*action)());

}  // namespace cortado
