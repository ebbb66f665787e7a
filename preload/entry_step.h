/*
 * What the rows STEP of the hook table say: how a function's arguments lead to what has to step
 * aside before it. A digit is the position of an argument, from 0 on.
 */
#ifndef ENTRY_STEP_H
#define ENTRY_STEP_H

/* clang-format off */
#define STEPS(X) \
	/* A FILE: of a function that reads, and of one that may write. */ \
	X(IN0) X(IN1) X(IN2) X(IN3) X(OUT0) X(OUT1) \
	X(KEEP1)     /* a FILE that libc goes on to use unseen */ \
	X(STDIN) \
	X(STDOUT)    /* which may be assigned */ \
	X(STD)       /* the two and stderr */ \
	X(FD_OUT0)   /* a descriptor: its offset, and it is written to */ \
	X(FD_OUT01)  /* two of them */ \
	X(FD_OUT02) \
	X(LOOK0)     /* a descriptor: its size */ \
	X(LOOK1) \
	X(BYTES)     /* the bytes of any file */ \
	X(MESSAGE1)  /* a struct msghdr, which may carry descriptors */ \
	X(MESSAGES1) /* an array of struct mmsghdr; the number is the next argument */ \
	X(ALL) \
	X(FLUSH)     /* everything, of a function that writes to all FILEs */ \
	X(SHARE)     /* everything, for good */ \
	X(PRCTL)     /* everything, for all time, if it is a sandbox */ \
	X(END)       /* everything, for all time */
/* clang-format on */

enum step {
#define X(name) STEP_##name,
	STEPS(X)
#undef X
};

#endif
