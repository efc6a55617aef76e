#pragma once

namespace cortado {

/// Says that this process works on something long for which others may wait, such as a file that it writes alone:
/// what it says counts as progress of theirs. Costs little; call it every second or more often.
void pulse();

/// What `pulse` does: nothing until comm sets it. nullptr: nothing again.
void set_pulse(void (*action)());

}  // namespace cortado
