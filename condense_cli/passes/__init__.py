"""Passes: what a run does to a conversation. Read `walk` from top to bottom; it is one sequence, and repeats nothing.

    walk.condense       the sequence: references measured, passes, references written, thinking, table
      Step              one round of a pass: a sheet, what is selected, how strictly, up to which size
      _work_of          the function of its mode: individual, extract or batch
      Sheet             the one mutable thing: messages without references, and what they cost as written
      ReferenceWriter   references are written, and only those that decode to what was meant
      Decisions         the table of the run, a row for each block; receipts, sums and reports are computed from it

Passes see messages without references. A block's place in receipts is that in the input, whatever went before it since.
"""
