/* Sharing operands by RMA, for the ports of machines without register communication, which the simulator checks with
 * every product of a mesh. In step t CPE (row, t) broadcasts its left operand along its row and CPE (t, column) its
 * right one along its column, each into one of two receive slots. The operands of step t + 1 come while those of step t
 * are multiplied:
 *
 *   take t | barrier | give t + 1 | multiply t | take t + 1 | barrier | give t + 2 | multiply t + 1 | ...
 *
 * The barrier says that all CPEs have done with step t - 1, whose slot those of t + 1 take. */
#ifndef CORTADO_SUNWAY_SHARE_H
#define CORTADO_SUNWAY_SHARE_H
#include "backends/sunway/port.h"

struct port_sharing {
  port_reply row_came[port_rma_slots], col_came[port_rma_slots], sent;
  int given;                /* broadcasts of this CPE, ever */
  int uses[port_rma_slots]; /* how often operands came into a slot, ever */
  int a_serial, b_serial;   /* of the operands that are shared; 0: none */
  int step, slot;           /* whose operands came last, and where they lie */
  int ahead;                /* whether those of the next step are on their way to the other slot */
};

static void share_give(struct port_sharing* s, const port_product* p, const void* a, const void* b, int element_bytes,
                       int step, int slot) {
  if (port_col() == step) {
    port_rma_row_broadcast(p->a_slots + slot * p->a_slot_bytes, a, p->a_elements * element_bytes, &s->sent,
                           &s->row_came[slot]);
    ++s->given;
  }
  if (port_row() == step) {
    port_rma_col_broadcast(p->b_slots + slot * p->b_slot_bytes, b, p->b_elements * element_bytes, &s->sent,
                           &s->col_came[slot]);
    ++s->given;
  }
  ++s->uses[slot];
}

/* Waits for the operands of a slot, and until what this CPE gave has left. */
static void share_take(struct port_sharing* s, int slot) {
  port_rma_wait(&s->row_came[slot], s->uses[slot]);
  port_rma_wait(&s->col_came[slot], s->uses[slot]);
  port_rma_wait(&s->sent, s->given);
}

/* Puts the operands of the product's step, which this CPE then multiplies, in place of its own. */
static void share_operands(const port_product* p, const void** a, const void** b, int element_bytes) {
  struct port_sharing* const s = port_sharing_here();
  const int same = s->a_serial == p->a_serial && s->b_serial == p->b_serial;
  if (!same || s->step != p->step) {
    if (same && s->ahead && s->step + 1 == p->step) {
      s->slot = 1 - s->slot;
    } else {
      port_share_end();
      port_barrier(); /* nobody multiplies from the slots any more */
      share_give(s, p, *a, *b, element_bytes, p->step, s->slot);
      s->a_serial = p->a_serial;
      s->b_serial = p->b_serial;
    }
    s->step = p->step;
    s->ahead = 0;
    share_take(s, s->slot);
    if (p->step + 1 < port_mesh_cols) {
      port_barrier();
      share_give(s, p, *a, *b, element_bytes, p->step + 1, 1 - s->slot);
      s->ahead = 1;
    }
  }
  *a = p->a_slots + s->slot * p->a_slot_bytes;
  *b = p->b_slots + s->slot * p->b_slot_bytes;
}

/* What port_share_end does. */
static void share_end(void) {
  struct port_sharing* const s = port_sharing_here();
  if (s->ahead) share_take(s, 1 - s->slot);
  s->ahead = 0;
  s->a_serial = s->b_serial = 0;
}

#endif
