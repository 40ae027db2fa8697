/* The keys of sessions by the times at which they are due. See due_keys.c. */
#ifndef HEADGATE_DUE_KEYS_H
#define HEADGATE_DUE_KEYS_H

#include "native.h"

typedef struct DueKeys DueKeys;

/* Return the `DueKeys` whose bound methods `add` and `drop` these functions are, borrowed; NULL if they are others. */
DueKeys *due_keys_of(State *state, PyObject *add, PyObject *drop);

/* `DueKeys.add` and `DueKeys.drop`. Return -1 with an exception. */
int due_add(DueKeys *self, PyObject *time, PyObject *key);
int due_drop(DueKeys *self, PyObject *key);

#endif
