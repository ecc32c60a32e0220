/* The pages of `tessera explain --format html`, as strings. */
    .section .rodata
    .globl cli_explain_page
    .hidden cli_explain_page
cli_explain_page:
    .incbin "cli/explain_page.html"
    .byte 0
    .globl cli_explain_pipeline_page
    .hidden cli_explain_pipeline_page
cli_explain_pipeline_page:
    .incbin "cli/explain_pipeline_page.html"
    .byte 0
    .section .note.GNU-stack,"",%progbits
