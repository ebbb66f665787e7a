/*
 * guard_copy(to, from, n), guard_touch(from, last, page): see guard.h. The two registers that belong to the caller are saved before
 * the first access and restored after the last, so that the stack looks the same at each of them,
 * and the way out from a fault is the way out.
 *
 * Words from both ends up to 16 bytes, the string instruction above, by words while its start is what
 * counts; SSE is not taken for granted.
 */
	.text
	.globl	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.hidden	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.type	guard_touch, @function
	.type	guard_copy, @function
	.p2align 6
guard_copy:
	.cfi_startproc
	pushl	%esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	pushl	%edi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %edi, 0
	movl	12(%esp), %edi
	movl	16(%esp), %esi
	movl	20(%esp), %ecx
	cmpl	$16, %ecx
	ja	.Labove_16
	cmpl	$8, %ecx
	ja	.Labove_8
	cmpl	$4, %ecx
	jb	.Lbytes
	movl	(%esi), %eax
	movl	-4(%esi,%ecx), %edx
	movl	%eax, (%edi)
	movl	%edx, -4(%edi,%ecx)
	jmp	.Ldone
.Labove_8:
	movl	(%esi), %eax
	movl	4(%esi), %edx
	movl	%eax, (%edi)
	movl	%edx, 4(%edi)
	movl	-8(%esi,%ecx), %eax
	movl	-4(%esi,%ecx), %edx
	movl	%eax, -8(%edi,%ecx)
	movl	%edx, -4(%edi,%ecx)
	jmp	.Ldone
.Labove_16:
	cmpl	$512, %ecx
	jae	.Lbytes
	movl	%ecx, %edx
	andl	$3, %edx
	shrl	$2, %ecx
	rep movsl
	movl	%edx, %ecx
.Lbytes:
	rep movsb
.Ldone:
	movl	$1, %eax
.Lout:
	.cfi_remember_state
	popl	%edi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %edi
	popl	%esi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %esi
	ret
guard_copy_fault:
	.cfi_restore_state
	xorl	%eax, %eax
	jmp	.Lout

/* guard_touch(from, last, page) */
guard_touch:
	.cfi_adjust_cfa_offset -8
	.cfi_restore %esi
	.cfi_restore %edi
	pushl	%esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	pushl	%edi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %edi, 0
	movl	12(%esp), %esi
	movl	16(%esp), %edi
	movl	20(%esp), %edx
	movzbl	(%esi), %eax
	movl	%edx, %ecx
	negl	%ecx
	andl	%ecx, %esi
.Ltouch:
	addl	%edx, %esi
	movzbl	(%esi), %eax
	cmpl	%edi, %esi
	jb	.Ltouch
	jmp	.Ldone
guard_copy_end:
	.cfi_endproc
	.size	guard_copy, . - guard_copy

	.section .note.GNU-stack, "", @progbits
