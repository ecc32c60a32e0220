/* The table of measurements as bytes of the library. */
        .section .rodata
        .global tsr_measured_text
        .hidden tsr_measured_text
        .global tsr_measured_text_end
        .hidden tsr_measured_text_end
tsr_measured_text:
        .incbin "src/cublas/measured.tsv"
tsr_measured_text_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
