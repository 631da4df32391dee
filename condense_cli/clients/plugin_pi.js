import { spawn } from "node:child_process"

const SECONDS = 60

// What condense answers to a value on its standard input; empty if that fails.
const ask = (event, value, signal) =>
  new Promise((resolve) => {
    let text = ""
    const process = spawn(PROGRAM[0], [...PROGRAM.slice(1), "hook", "pi", event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: SECONDS * 1000,
      signal,
    })
    process.on("error", () => resolve(""))
    process.on("close", (status) => resolve(status === 0 ? text : ""))
    process.stdout.setEncoding("utf8").on("data", (piece) => (text += piece))
    process.stdin.on("error", () => {})
    process.stdin.end(JSON.stringify(value))
  })

export default function (pi) {
  // Without an answer, or with an error, pi asks its model.
  pi.on("session_before_compact", async (event, ctx) => {
    const { firstKeptEntryId, tokensBefore } = event.preparation
    const kept = event.branchEntries.findIndex((entry) => entry.id === firstKeptEntryId)
    const entries = kept < 0 ? event.branchEntries : event.branchEntries.slice(0, kept)
    const header = ctx.sessionManager.getHeader()
    const value = {
      entries: header ? [header, ...entries] : entries,
      instructions: event.customInstructions,
      model: ctx.model?.id,
      window: ctx.model?.contextWindow,
    }
    const summary = await ask("compact", value, event.signal)
    if (summary) return { compaction: { summary, firstKeptEntryId, tokensBefore } }
  })
}
