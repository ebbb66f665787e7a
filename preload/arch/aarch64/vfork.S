/*
 * vfork: the system call itself, for a C function can't return twice from one frame. The child runs
 * on its parent's stack; the return address stays in x30 for both. There is no vfork in this
 * machine's table: clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0) is one.
 */
#include <asm/unistd.h>

#define CLONE_VM 0x100
#define CLONE_VFORK 0x4000
#define SIGCHLD 17

	.text
	.globl	vfork, __vfork, vfork_stub
	.hidden	vfork_stub
	.type	vfork, %function
	.type	__vfork, %function
	.type	vfork_stub, %function
vfork:
__vfork:
vfork_stub:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	bl	process_vfork_before
	ldp	x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x29
	.cfi_restore x30
	/* The kernel keeps all but x0. */
	and	w9, w0, #0xff
	mov	x0, #(CLONE_VM | CLONE_VFORK | SIGCHLD)
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	mov	w1, w9
	b	process_vfork_after
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - vfork
	.size	vfork_stub, . - vfork

	.section .note.GNU-stack, "", %progbits
