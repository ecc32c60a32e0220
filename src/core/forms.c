#include "core/forms.h"

#include <ctype.h>
#include <stddef.h>

static const char *const texts[TSR_EPILOGUE_COUNT] = {
#define TEXT(name, text) [name] = text,
    TSR_EPILOGUE_MAP(TEXT)
#undef TEXT
};

const char *tsr_form_text(int form)
{
    return form > TSR_EPILOGUE_NONE && form < TSR_EPILOGUE_COUNT ? texts[form] : NULL;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* 1 if both are the same but for blanks, which may not stand within a word. */
static int is_same(const char *one, const char *other)
{
    int after_word = 0; /* the character before was part of one */
    for (;;) {
        const char *const next = skip_blanks(one);
        const int is_word = isalnum((unsigned char)*next) != 0;
        other = skip_blanks(other);
        if (*next != *other || (after_word && is_word && next != one))
            return 0;
        if (*next == '\0')
            return 1;
        after_word = is_word;
        one = next + 1;
        other++;
    }
}

tsr_epilogue tsr_form_of(const char *text)
{
    for (int form = TSR_EPILOGUE_NONE + 1; form < TSR_EPILOGUE_COUNT; form++)
        if (is_same(text, texts[form]))
            return (tsr_epilogue)form;
    return TSR_EPILOGUE_NONE;
}
