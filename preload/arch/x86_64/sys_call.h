/* The bare system call on x86-64: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9; the
 * kernel clobbers rcx and r11 and answers -errno in rax. */
#ifndef SYS_CALL_H
#define SYS_CALL_H

#define SYS_PAGE_SIZE 4096

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return answer;
}

#endif
