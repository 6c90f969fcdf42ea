// dlsym and dlvsym as jumps: see dlsym.cpp. Entered with rsp = 8 mod 16.

    .text

    .globl  dlsym
    .type   dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    traceagent_dlsym_lookup
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    testq   %rax, %rax
    jne     1f
    jmpq    *traceagent_dlsym_target(%rip)
1:  cmpq    $1, %rax            /* not_there() */
    jne     2f
    xorl    %eax, %eax
2:  ret
    .cfi_endproc
    .size   dlsym, .-dlsym

    .globl  dlvsym
    .type   dlvsym, @function
dlvsym:
    .cfi_startproc
    endbr64
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    call    traceagent_dlvsym_lookup
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    testq   %rax, %rax
    jne     1f
    jmpq    *traceagent_dlvsym_target(%rip)
1:  cmpq    $1, %rax            /* not_there() */
    jne     2f
    xorl    %eax, %eax
2:  ret
    .cfi_endproc
    .size   dlvsym, .-dlvsym

    .section .note.GNU-stack,"",@progbits
