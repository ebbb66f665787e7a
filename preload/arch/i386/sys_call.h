/* The bare system call on i386: number in eax, arguments in ebx, ecx, edx, esi, edi, ebp; the
 * kernel answers -errno in eax. ebp holds the frame and can't be named as an operand, so the sixth
 * argument and the number go through memory. */
#ifndef SYS_CALL_H
#define SYS_CALL_H

#define SYS_PAGE_SIZE 4096

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	long pair[2] = {number, f};
	long answer;

	__asm__ volatile("pushl %%ebp\n\t"
			 "movl 4(%%eax), %%ebp\n\t"
			 "movl (%%eax), %%eax\n\t"
			 "int $0x80\n\t"
			 "popl %%ebp"
			 : "=a"(answer)
			 : "a"(pair), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return answer;
}

#endif
