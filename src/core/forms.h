/* The forms of an epilogue as a descriptor spells them. */
#ifndef TSR_CORE_FORMS_H
#define TSR_CORE_FORMS_H

#include "core/epilogue.h"

/* "relu(acc + bias[n])"; NULL for TSR_EPILOGUE_NONE and what is no form. */
const char *tsr_form_text(int form);
/* The form that the text spells, blanks between its words left out or not; TSR_EPILOGUE_NONE: it spells none. */
tsr_epilogue tsr_form_of(const char *text);

#endif
