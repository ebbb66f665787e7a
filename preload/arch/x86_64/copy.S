/*
 * guard_copy(to, from, n), guard_touch(from, last, page): see guard.h. A leaf without a frame: wherever it is interrupted, the
 * stack holds its return address and nothing else, so the handler has only to go to
 * guard_copy_fault.
 *
 * Up to 128 bytes all is loaded before anything is stored, from both ends, which may overlap.
 * Below 1,024 bytes a loop of 64, with aligned stores; from there on the string instruction, by
 * bytes: by words it takes up to six times as long where the addresses are not aligned.
 */
	.text
	.globl	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.hidden	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.type	guard_touch, @function
	.type	guard_copy, @function
	.p2align 6
guard_copy:
	.cfi_startproc
	endbr64
	cmpq	$16, %rdx
	jb	.Lbelow_16
	cmpq	$32, %rdx
	ja	.Labove_32
	movups	(%rsi), %xmm0
	movups	-16(%rsi,%rdx), %xmm1
	movups	%xmm0, (%rdi)
	movups	%xmm1, -16(%rdi,%rdx)
	movl	$1, %eax
	ret
.Labove_32:
	cmpq	$64, %rdx
	ja	.Labove_64
	movups	(%rsi), %xmm0
	movups	16(%rsi), %xmm1
	movups	-32(%rsi,%rdx), %xmm2
	movups	-16(%rsi,%rdx), %xmm3
	movups	%xmm0, (%rdi)
	movups	%xmm1, 16(%rdi)
	movups	%xmm2, -32(%rdi,%rdx)
	movups	%xmm3, -16(%rdi,%rdx)
	movl	$1, %eax
	ret

.Lbelow_16:
	cmpl	$8, %edx
	jb	.Lbelow_8
	movq	(%rsi), %rax
	movq	-8(%rsi,%rdx), %rcx
	movq	%rax, (%rdi)
	movq	%rcx, -8(%rdi,%rdx)
	movl	$1, %eax
	ret
.Lbelow_8:
	cmpl	$4, %edx
	jb	.Lbelow_4
	movl	(%rsi), %eax
	movl	-4(%rsi,%rdx), %ecx
	movl	%eax, (%rdi)
	movl	%ecx, -4(%rdi,%rdx)
	movl	$1, %eax
	ret
.Lbelow_4:
	testl	%edx, %edx
	je	.Ldone
	/* The first, the middle and the last byte, which may be the same. */
	movzbl	(%rsi), %eax
	movzbl	-1(%rsi,%rdx), %ecx
	movl	%edx, %r8d
	shrl	%r8d
	movzbl	(%rsi,%r8), %r9d
	movb	%al, (%rdi)
	movb	%r9b, (%rdi,%r8)
	movb	%cl, -1(%rdi,%rdx)
.Ldone:
	movl	$1, %eax
	ret

.Labove_64:
	cmpq	$128, %rdx
	ja	.Labove_128
	movups	(%rsi), %xmm0
	movups	16(%rsi), %xmm1
	movups	32(%rsi), %xmm2
	movups	48(%rsi), %xmm3
	movups	-64(%rsi,%rdx), %xmm4
	movups	-48(%rsi,%rdx), %xmm5
	movups	-32(%rsi,%rdx), %xmm6
	movups	-16(%rsi,%rdx), %xmm7
	movups	%xmm0, (%rdi)
	movups	%xmm1, 16(%rdi)
	movups	%xmm2, 32(%rdi)
	movups	%xmm3, 48(%rdi)
	movups	%xmm4, -64(%rdi,%rdx)
	movups	%xmm5, -48(%rdi,%rdx)
	movups	%xmm6, -32(%rdi,%rdx)
	movups	%xmm7, -16(%rdi,%rdx)
	movl	$1, %eax
	ret

.Labove_128:
	cmpq	$1024, %rdx
	jae	.Lstring
	/* The first 16 bytes and the last 64 are stored apart; between them from the first address
	 * that is a multiple of 16. */
	movups	(%rsi), %xmm0
	movups	-64(%rsi,%rdx), %xmm4
	movups	-48(%rsi,%rdx), %xmm5
	movups	-32(%rsi,%rdx), %xmm6
	movups	-16(%rsi,%rdx), %xmm7
	leaq	-64(%rdi,%rdx), %rcx
	movups	%xmm0, (%rdi)
	subq	%rdi, %rsi
	addq	$16, %rdi
	andq	$-16, %rdi
	.p2align 4
.Lloop:
	movups	(%rsi,%rdi), %xmm0
	movups	16(%rsi,%rdi), %xmm1
	movups	32(%rsi,%rdi), %xmm2
	movups	48(%rsi,%rdi), %xmm3
	movaps	%xmm0, (%rdi)
	movaps	%xmm1, 16(%rdi)
	movaps	%xmm2, 32(%rdi)
	movaps	%xmm3, 48(%rdi)
	addq	$64, %rdi
	cmpq	%rcx, %rdi
	jb	.Lloop
	movups	%xmm4, (%rcx)
	movups	%xmm5, 16(%rcx)
	movups	%xmm6, 32(%rcx)
	movups	%xmm7, 48(%rcx)
	movl	$1, %eax
	ret

.Lstring:
	movq	%rdx, %rcx
	rep movsb
	movl	$1, %eax
	ret

/* guard_touch(from, last, page) */
	.p2align 4
guard_touch:
	endbr64
	movzbl	(%rdi), %eax
	movq	%rdx, %rcx
	negq	%rcx
	andq	%rcx, %rdi
.Ltouch:
	addq	%rdx, %rdi
	movzbl	(%rdi), %eax
	cmpq	%rsi, %rdi
	jb	.Ltouch
	movl	$1, %eax
	ret

guard_copy_fault:
	xorl	%eax, %eax
	ret
guard_copy_end:
	.cfi_endproc
	.size	guard_copy, . - guard_copy

	.section .note.GNU-stack, "", @progbits
