"""Passes: what a run does to a conversation.

    pipeline.condense     a run, and again on its result where that could find more to do
      course.Course       references, then the passes in their order, then thinking; again where messages went
        Step              one round of a pass: what is selected, how strictly, up to which size
        modes.work_of     the function of its mode: individual, extract or batch
          plan            what may change, and which summaries that takes   (selection, chosen, division: pure)
          fulfil          the summaries are written   (Summarizer: offline, or a model; nothing else reaches outside)
          apply           blocks are exchanged in the draft; only that changes   (operations, cutting, shortening)
        prelude.Writer    prove: references are written anew, and only those that decode to what was meant
      Condensation        the result, with a receipt for every block

Why it ends: a pass runs at most so many rounds, and each must change something; a target that is reached ends the rest.
`in_model_tokens` and `smallest` stand around it: numbers in the model's tokens, results no larger than those of others.
"""
