/* The table of operations: name, operands, how often, by whom. */
#include "differ.h"

/* clang-format off */
#define ROW(name, operands, weight, by) {#name, operands, weight, by, draw_##name, run_##name}

const struct operation operations[] = {
	/* Mappings. A place is SLOT PAGE LENGTH; SKEW bytes make an address odd. */
	ROW(map, 9, 300, BY_ALL),       /* SLOT FD OFFSET LENGTH PROT FLAGS HOW OVER PAGE */
	ROW(unmap, 4, 180, BY_ALL),     /* SLOT PAGE LENGTH SKEW */
	ROW(unmap_many, 2, 10, BY_ONE), /* SLOT COUNT */
	ROW(protect, 5, 60, BY_ALL),    /* SLOT PAGE LENGTH SKEW PROT */
	ROW(advise, 5, 60, BY_ALL),     /* SLOT PAGE LENGTH SKEW ADVICE */
	ROW(padvise, 5, 10, BY_ALL),    /* the same, posix_madvise */
	ROW(sync, 5, 15, BY_ALL),       /* SLOT PAGE LENGTH SKEW FLAGS */
	ROW(lock, 5, 10, BY_ALL),       /* SLOT PAGE LENGTH SKEW FLAGS */
	ROW(unlock, 4, 10, BY_ALL),     /* SLOT PAGE LENGTH SKEW */
	ROW(incore, 4, 8, BY_ALL),      /* SLOT PAGE LENGTH SKEW */
	ROW(remap, 8, 40, BY_ONE),      /* SLOT PAGE OLD TO NEW FLAGS OVER PAGE */
	ROW(load, 4, 100, BY_ALL),      /* SLOT PAGE OFFSET LENGTH */
	ROW(store, 5, 140, BY_ALL),     /* SLOT PAGE OFFSET LENGTH VALUE */
	ROW(check, 0, 20, BY_ONE),
	ROW(mtime, 3, 3, BY_MAIN), /* FD PAGE LOAD-FIRST */
	/* Files and descriptors. */
	ROW(begin, 1, 0, BY_MAIN),       /* FUTURE */
	ROW(open, 3, 50, BY_ONE),        /* FD NAME FLAGS */
	ROW(close, 1, 25, BY_ONE),       /* FD */
	ROW(unseen_close, 1, 2, BY_ONE), /* FD */
	ROW(dup, 3, 10, BY_ONE),         /* FD FROM HOW */
	ROW(dup_to, 3, 10, BY_ONE),      /* FD FROM HOW */
	ROW(pread, 3, 20, BY_ALL),       /* FD OFFSET LENGTH */
	ROW(pwrite, 4, 40, BY_ONE),      /* FD OFFSET LENGTH VALUE */
	ROW(read, 2, 30, BY_ONE),        /* FD LENGTH */
	ROW(readv, 2, 10, BY_ONE),       /* FD LENGTH */
	ROW(reads, 3, 15, BY_ONE),       /* FD OFFSET COUNT */
	ROW(send, 2, 4, BY_ONE),         /* FD LENGTH */
	ROW(write, 3, 15, BY_ONE),       /* FD LENGTH VALUE */
	ROW(seek, 3, 20, BY_ONE),        /* FD OFFSET WHENCE */
	ROW(pread_to, 6, 12, BY_ONE),    /* FD OFFSET LENGTH SLOT PAGE OFFSET */
	ROW(pwrite_from, 6, 12, BY_ONE), /* FD OFFSET LENGTH SLOT PAGE OFFSET */
	ROW(truncate, 2, 15, BY_ONE),    /* FD LENGTH */
	ROW(allocate, 4, 12, BY_ONE),    /* FD MODE OFFSET LENGTH */
	ROW(rename, 2, 3, BY_ONE),       /* NAME NAME */
	ROW(unlink, 1, 3, BY_ONE),       /* NAME */
	ROW(size, 1, 5, BY_ALL),         /* FD */
	ROW(peer, 5, 12, BY_ONE),        /* WHAT NAME OFFSET LENGTH VALUE */
	/* Processes, threads, signals: followed by a block. */
	ROW(fork, 2, 3, BY_MAIN),    /* LINES HOW */
	ROW(vfork, 2, 2, BY_MAIN),   /* HOW FD */
	ROW(thread, 2, 3, BY_MAIN),  /* LINES LINES */
	ROW(handler, 1, 5, BY_MAIN), /* LINES */
	ROW(timer, 1, 1, BY_MAIN),   /* MICROSECONDS */
	{0},
};
/* clang-format on */
