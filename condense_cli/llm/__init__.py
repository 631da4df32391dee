"""Summaries written by a model: prompts, calls, budget, cache, redaction.

    choice = access.choose(pass's profile, configuration's profile, user's configuration, permission, environment)
    caller = calls.Caller(choice.access, counter, now, budget=…, cache=…, redactor=…, progress=…)
    done = summaries.summarize([prompts.PromptTask(subject, texts, limit, replaced=tokens), …], caller)

`done.outcomes` holds for each task, in order, a text or the reason why there is none. `summaries.plan` gives the
requests without sending them.
"""
