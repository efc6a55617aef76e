/* The port's management side, on the MPE; the same calls on SW26010 and SW26010-Pro. */
#include <athread.h>

#include "backends/sunway/port.h"

int port_core_group(void) { return 0; /* of one process; the job system places processes on core groups */ }

void port_spawn(port_entry entry, void* argument) {
  static int started = 0;
  if (!started) {
    athread_init();
    started = 1;
  }
  athread_spawn((void*)entry, argument);
}
void port_join(void) { athread_join(); }
