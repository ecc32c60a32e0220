/* The page of `tessera explain --format html`, as a string. */
    .section .rodata
    .globl cli_explain_page
    .hidden cli_explain_page
cli_explain_page:
    .incbin "cli/explain_page.html"
    .byte 0
    .section .note.GNU-stack,"",%progbits
