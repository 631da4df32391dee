cimport cython
from libc.stdint cimport int64_t

cdef int64_t _UPPER, _LOWER, _LETTER, _MARK, _DIGIT, _SPACE, _LINE, _OTHER
cdef int64_t _TO_UPPER, _TO_LOWER, _BEFORE_WORDS, _SIGNS, _BLANKS
cdef int64_t _SHORT, _PLACES, _HALF, _NO_RANK, _ONES, _MIXING


cdef class Splitter:
    cdef const unsigned int[::1] slots, starts
    cdef const unsigned char[::1] texts
    cdef int64_t mask
    cdef object class_of
    cdef bytes ascii
    cdef unsigned char[::1] classes, counts
    cdef unsigned int[::1] checksums
    cdef int64_t[::1] heads, tails, ends, ranks
    cdef int[::1] pairs

    @cython.locals(size=int64_t, tokens=int64_t, start=int64_t, end=int64_t, classes=bytes)
    cpdef int64_t count(self, bytes data) except -1

    @cython.locals(found=bytearray, at=int64_t, stop=int64_t, code=int64_t)
    cdef bytearray classified(self, const unsigned char* data, int64_t size)

    @cython.locals(first=int64_t, at=int64_t, stop=int64_t, last=int64_t, line=int64_t)
    cdef int64_t end_of(self, const unsigned char* data, const unsigned char* classes, int64_t start, int64_t size) noexcept

    cdef inline int64_t behind(self, const unsigned char* data, int64_t at, int64_t size) noexcept

    @cython.locals(first=int64_t, second=int64_t)
    cdef inline int64_t contracted(self, const unsigned char* data, int64_t at, int64_t size) noexcept

    @cython.locals(size=int64_t, middle=int64_t, head=int64_t, tail=int64_t, at=int64_t, place=int64_t)
    cdef inline int64_t known(self, const unsigned char* data, int64_t start, int64_t end) except -1

    @cython.locals(code=int64_t, at=int64_t, slot=int64_t, size=int64_t, number=int64_t, first=int64_t)
    cdef int64_t rank(self, const unsigned char* data, int64_t start, int64_t end) noexcept

    @cython.locals(both=int64_t)
    cdef inline int64_t pair(self, const unsigned char* data, int64_t at) noexcept

    @cython.locals(size=int64_t, at=int64_t, best=int64_t, place=int64_t)
    cdef int64_t piece(self, const unsigned char* data, int64_t start, int64_t end) except -1

    @cython.locals(
        size=int64_t, count=int64_t, at=int64_t, found=int64_t, middle=int64_t, until=int64_t,
        left=int64_t, ends=int64_t[::1], before=int64_t[::1], ranks=int64_t[::1], waiting=list,
    )
    cdef int64_t long_piece(self, const unsigned char* data, int64_t start, int64_t end) except -1
