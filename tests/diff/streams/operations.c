/* The table of operations: name, operands, how often, by whom. */
#include "stdiffer.h"

/* clang-format off */
#define ROW(name, operands, weight, by) {#name, operands, weight, by, draw_##name, run_##name}

const struct operation operations[] = {
	ROW(begin, 3, 0, BY_MAIN),       /* SIZES LINKED END */
	ROW(check, 0, 0, BY_ONE),
	/* Streams. */
	ROW(open, 4, 30, BY_ONE),        /* STREAM NAME MODE HOW */
	ROW(reopen, 4, 4, BY_ONE),       /* STREAM NAME MODE HOW */
	ROW(close, 1, 12, BY_ONE),       /* STREAM */
	ROW(seek, 4, 60, BY_ONE),        /* STREAM OFFSET WHENCE HOW */
	ROW(far, 4, 2, BY_ONE),          /* STREAM OFFSET WHENCE HOW */
	ROW(tell, 2, 20, BY_ONE),        /* STREAM HOW */
	ROW(rewind, 1, 6, BY_ONE),       /* STREAM */
	ROW(getpos, 3, 6, BY_ONE),       /* STREAM SPOT HOW */
	ROW(setpos, 3, 6, BY_ONE),       /* STREAM SPOT HOW */
	ROW(read, 4, 60, BY_ONE),        /* STREAM SIZE COUNT HOW */
	ROW(write, 5, 60, BY_ONE),       /* STREAM SIZE COUNT VALUE HOW */
	ROW(seek_read, 5, 40, BY_ONE),   /* STREAM OFFSET WHENCE SIZE HOW */
	ROW(seek_write, 6, 40, BY_ONE),  /* STREAM OFFSET WHENCE SIZE VALUE HOW */
	ROW(flush, 2, 20, BY_ONE),       /* STREAM HOW */
	ROW(state, 2, 20, BY_ONE),       /* STREAM HOW */
	ROW(fields, 1, 20, BY_ONE),      /* STREAM */
	ROW(buffer, 4, 8, BY_ONE),       /* STREAM MODE SIZE HOW */
	ROW(purge, 1, 2, BY_ONE),        /* STREAM */
	ROW(locked, 3, 4, BY_ONE),       /* STREAM OFFSET SIZE */
	ROW(assign, 2, 4, BY_ONE),       /* STREAM WHICH */
	/* Characters, lines, formats. */
	ROW(getc, 3, 30, BY_ONE),        /* STREAM COUNT HOW */
	ROW(putc, 4, 30, BY_ONE),        /* STREAM COUNT VALUE HOW */
	ROW(gets, 3, 20, BY_ONE),        /* STREAM SIZE HOW */
	ROW(puts, 4, 15, BY_ONE),        /* STREAM SIZE VALUE HOW */
	ROW(print, 3, 20, BY_ONE),       /* STREAM VALUE HOW */
	ROW(scan, 2, 15, BY_ONE),        /* STREAM HOW */
	ROW(unget, 3, 15, BY_ONE),       /* STREAM COUNT VALUE */
	ROW(wide, 3, 4, BY_ONE),         /* STREAM VALUE HOW */
	ROW(database, 2, 4, BY_ONE),     /* STREAM HOW */
	/* Descriptors and files. */
	ROW(fd_open, 3, 8, BY_ONE),      /* FD NAME FLAGS */
	ROW(fd_dup, 3, 8, BY_ONE),       /* FD PLACE HOW */
	ROW(fd_close, 1, 6, BY_ONE),     /* FD */
	ROW(fd_seek, 3, 40, BY_ONE),     /* PLACE OFFSET WHENCE */
	ROW(fd_read, 4, 30, BY_ONE),     /* PLACE OFFSET SIZE HOW */
	ROW(fd_write, 5, 30, BY_ONE),    /* PLACE OFFSET SIZE VALUE HOW */
	ROW(fd_size, 2, 25, BY_ONE),     /* PLACE HOW */
	ROW(fd_truncate, 2, 12, BY_ONE),  /* PLACE SIZE */
	ROW(fd_allocate, 4, 8, BY_ONE),  /* PLACE MODE OFFSET SIZE */
	ROW(fd_flags, 2, 6, BY_ONE),     /* PLACE HOW */
	ROW(fd_sync, 2, 2, BY_ONE),      /* PLACE HOW */
	ROW(fd_map, 3, 15, BY_ONE),       /* PLACE OFFSET SIZE */
	ROW(fd_send, 4, 10, BY_ONE),      /* PLACE PLACE SIZE HOW */
	ROW(keep, 2, 6, BY_ONE),         /* MAP PLACE */
	ROW(kept, 3, 12, BY_ONE),         /* MAP OFFSET VALUE */
	ROW(look, 2, 35, BY_ONE),        /* NAME HOW */
	ROW(rename, 2, 1, BY_ONE),       /* NAME NAME */
	ROW(unlink, 1, 1, BY_ONE),       /* NAME */
	ROW(peer, 5, 30, BY_ONE),        /* WHAT NAME OFFSET SIZE VALUE */
	/* Processes and threads; fork is followed by a block. */
	ROW(fork, 3, 6, BY_MAIN),        /* LINES HOW END */
	ROW(command, 3, 2, BY_ONE),      /* NAME PLACE HOW */
	ROW(starve, 4, 3, BY_ONE),       /* HOW LIMIT STEPS VALUE */
	ROW(threads, 3, 1, BY_MAIN),     /* HOW RECORDS VALUE */
	{0},
};
/* clang-format on */
