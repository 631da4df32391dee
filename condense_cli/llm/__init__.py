"""Summaries by a model: prompts, calls, budget, cache, redaction.

    choice = access.choose(pass's profile, configuration's profile, user's configuration, permission, environment)
    caller = calls.Caller(choice.access, counter, now, budget=…, cache=…, redactor=…, progress=…)
    done = summaries.summarize([prompts.PromptTask(subject, texts, limit, replaced=tokens), …], caller)

`done.outcomes` holds one outcome per task, in order: a text or a failure. `summaries.plan` returns the requests without
sending them.
"""
