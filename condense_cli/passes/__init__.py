"""Passes: what a run does to a conversation.

    pipeline.condense     a run by the model's tokens, and again on its result where that could find more to do
      course.Course       references, then the passes in their order, then thinking; again where messages went
        Step              one round of a pass: what is selected, how strictly, up to which size
        modes.work_of     the function of its mode: individual, extract or batch
          plan            what may change, and which summaries that takes   (selection, chosen, division: pure)
          fulfil          the summaries are written   (Summarizer: offline, or a model; nothing else reaches outside)
          apply           blocks are exchanged in the draft; only that changes   (operations, cutting, shortening)
        ReferenceWriter   prove: references are written anew, and only those that decode to what was meant
      Condensation        the result, with a receipt for every block

Why it ends: a pass runs at most so many rounds, and each must change something; a target that is reached ends the rest.
`smallest` stands around it, where a result is to be no larger than those of other configurations.

Three words are used throughout. *Messages* are what passes see, without references; *written* are the same messages as
the file will have them, with references, and tokens are counted of those. So what one pass cuts may change how other
blocks are written: after each step the references are *settled*, and `reconcile` gives receipts to every block that
came out otherwise. A block's place in receipts is that in the input, whatever went before it since (`as_in_input`).

In this order it reads from the top: `pipeline`, `step`, `course`, `modes/table`, `modes/individual`, `selection`,
`draft`, `prelude`, `reconcile`; the other modes, and what is around, when they are asked for.
"""
