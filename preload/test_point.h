/*
 * A place where the test build of the library lets something else happen: a signal, a call that
 * re-enters a hook. It stands in every real call that the library makes, so that "a signal at each
 * real call" can be tested by construction. In the library that is shipped it is nothing.
 */
#ifndef TEST_POINT_H
#define TEST_POINT_H

#ifdef MC_TEST_POINTS
void test_point(void);
/* At the end of the constructor: what a test wants to have happened by then. */
void test_begin(void);
#else
static inline void test_begin(void)
{
}
static inline void test_point(void)
{
}
#endif

#endif
