cimport cython
from libc.stdint cimport int64_t

cdef int64_t _TOGETHER, _SMALL_GAP, _BESIDE_LINES, _BESIDE_ROWS, _ROW, _CLOSING
cdef int64_t _EDGE, _MISSING_BEFORE, _MISSING_BEHIND
cdef double _SAME, _SAME_TEXT
cdef bint IS_COMPILED


cdef class WaitingUnits:
    cdef list items
    cdef double[::1] ratios
    cdef int64_t[::1] units
    cdef int64_t size

    @cython.locals(at=int64_t, above=int64_t)
    cdef void push(self, double ratio, int64_t unit) except *
    cdef void grow(self) except *
    cdef bint is_before(self, double ratio, int64_t unit)
    cdef double best(self)
    @cython.locals(found=int64_t, ratio=double, unit=int64_t, at=int64_t, below=int64_t)
    cdef int64_t pop(self)


cdef class Loops:
    cdef const unsigned int[::1] tokens, starts, keys
    cdef const double[::1] values, weights, shares
    cdef unsigned int[::1] said, stretch_of, order, queue
    cdef double[::1] gains, ratios, best_values, best_ratios
    cdef int64_t heard, marker, lines, most, size, queued
    cdef double least
    cdef public bytearray kept
    cdef public int64_t spent
    cdef public double density
    cdef unsigned char[::1] marks, left, closed, beside, grouped, begun
    cdef int[::1] costs, firsts, behinds, above
    cdef bint has_pieces, has_groups
    cdef list taken, too_large, openings
    cdef WaitingUnits again
    cdef int64_t[::1] best_costs, best_units, first, begins, ends
    cdef object headings
    cdef dict under, titles, groups

    @cython.locals(unit=int64_t)
    cdef void bound(self, int64_t number, int64_t start, int64_t stop, gaps) except *
    cpdef bint is_piece(self, int64_t unit)
    @cython.locals(
        size=int64_t, least=double, again=WaitingUnits, unit=int64_t, before=double, is_best=bint, value=double, added=list,
        cost=int64_t, ratio=double, number=int64_t, at=int64_t, queue="unsigned int[::1]", ratios=double[::1],
        marks="unsigned char[::1]",
    )
    cpdef object fill_to(self, int64_t budget, int64_t rest)
    @cython.locals(target=int64_t, unit=int64_t, cost=int64_t, added=list)
    cpdef bint undo(self, int64_t tokens)
    @cython.locals(at=int64_t, key=int64_t, said=int64_t)
    cdef void say(self, int64_t unit, int64_t times) except *
    @cython.locals(value=double, at=int64_t, stop=int64_t)
    cdef double value(self, int64_t unit) noexcept
    @cython.locals(value=double, unit=int64_t)
    cdef double value_of(self, list added)
    @cython.locals(value=double, cost=int64_t, added=list)
    cdef double ratio(self, int64_t unit)
    cdef list with_ends(self, int64_t unit)
    @cython.locals(other=int64_t)
    cdef list group(self, int64_t unit)
    @cython.locals(cost=int64_t, before=int64_t, unit=int64_t)
    cdef int64_t cost(self, list added) except? -1
    @cython.locals(number=int64_t, unit=int64_t)
    cdef void take(self, list added, int64_t cost) except *
    @cython.locals(unit=int64_t, piece=int64_t, beside=int64_t)
    cdef void push_cheaper(self, list added, int64_t first, int64_t last) except *
    @cython.locals(unit=int64_t, title=int64_t, beside=int64_t)
    cdef void push_of_groups(self, list added, int64_t first, int64_t last) except *
    @cython.locals(ratio=double)
    cdef void push_worth(self, int64_t unit) except *
    @cython.locals(other=int64_t)
    cdef void open(self, int64_t number) except *
    @cython.locals(share=double)
    cdef void push_text(self, int64_t number) except *
    @cython.locals(share=double)
    cdef int64_t best_of(self, int64_t number, double before) except? -2
    @cython.locals(at=int64_t)
    cdef void push_next(self, int64_t number) except *
    @cython.locals(
        added=double, at=int64_t, end=int64_t, size=int64_t, place=int64_t, unit=int64_t, value=double, cost=int64_t,
        ratio=double, free=int64_t, best=double, spent=int64_t, least=int64_t, ratios=double[::1],
        order="unsigned int[::1]", beside="unsigned char[::1]",
    )
    cdef double together(self, int64_t number)
    cdef bint is_better(self, double value, int64_t cost, int64_t unit, int64_t place) noexcept
    @cython.locals(most=int64_t, is_in_row=bint, last=int64_t, behind=int64_t, cost=int64_t)
    cdef void close_gaps(self, int64_t end, int64_t budget) except *
    @cython.locals(first=int64_t, last=int64_t)
    cdef bint is_in_row(self, int64_t unit) noexcept
    @cython.locals(
        behind=int64_t, missing=int64_t, found=int64_t, tokens=int64_t, between=int64_t, first=int64_t,
    )
    cdef void close_gap(self, int64_t unit, int64_t direction, int64_t most) except *
