import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const SECONDS = 60
const MOST = 40_000
const PROVIDER = "condense"
const SESSION = "x-condense-session"

// What condense answers to a value on its standard input; empty if that fails.
const ask = (event, value) =>
  new Promise((resolve) => {
    let text = ""
    try {
      const process = spawn(PROGRAM[0], [...PROGRAM.slice(1), "hook", "opencode", event], {
        stdio: ["pipe", "pipe", "ignore"],
      })
      const limit = setTimeout(() => process.kill(), SECONDS * 1000)
      process.on("error", () => resolve(""))
      process.on("close", (status) => (clearTimeout(limit), resolve(status === 0 ? text : "")))
      process.stdout.setEncoding("utf8").on("data", (piece) => (text += piece))
      process.stdin.on("error", () => {})
      process.stdin.end(JSON.stringify(value))
    } catch {
      resolve("")
    }
  })

// A session gets stuck without an answer: if condense fails, the newest words of the user are one.
const words = (messages) => {
  const said = messages
    .filter((each) => each.info.role === "user")
    .flatMap((each) => each.parts)
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
  return `condense could not be run, so this is only what the user said last:\n\n${said.join("\n\n").slice(-MOST)}`
}

const streamed = (text) => {
  const head = { id: "condense", object: "chat.completion.chunk", created: 0, model: "compaction" }
  const chunk = (delta, finish_reason = null) => ({ ...head, choices: [{ index: 0, delta, finish_reason }] })
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const chunks = [chunk({ role: "assistant", content: text }), { ...chunk({}, "stop"), usage }]
  const data = [...chunks.map((each) => JSON.stringify(each)), "[DONE]"]
  return new Response(data.map((each) => `data: ${each}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  })
}

// A session that opencode reads from a file, as `opencode import` does.
const imported = (session) => {
  const folder = mkdtempSync(join(tmpdir(), "condense-"))
  try {
    const file = join(folder, "session.json")
    writeFileSync(file, JSON.stringify(session), { mode: 0o600 })
    return spawnSync(process.execPath, ["import", file], { stdio: "ignore", timeout: SECONDS * 1000 }).status === 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const Condense = async ({ client }) => {
  const compacting = new Set() // Sessions whose messages come next.
  const ends = new Map() // The last message that a compaction of a session replaces.
  const windows = new Map() // The context window of a session's model.

  const answer = async (_, request) => {
    let messages = []
    try {
      const id = new Headers(request.headers).get(SESSION)
      const info = (await client.session.get({ path: { id } })).data
      messages = (await client.session.messages({ path: { id } })).data ?? []
      const end = messages.findIndex((each) => each.info.id === ends.get(id))
      if (end >= 0) messages = messages.slice(0, end + 1)
      return streamed((await ask("compact", { info, messages, window: windows.get(id) })) || words(messages))
    } catch {
      return streamed(words(messages))
    }
  }

  const copied = async (id, preset) => {
    const info = (await client.session.get({ path: { id } })).data
    const messages = (await client.session.messages({ path: { id } })).data
    const found = JSON.parse((await ask("copy", { info, messages, preset })) || "{}")
    if (!found.session) return found.why || "condense failed: condense install opencode --status says why."
    if (!imported(found.session)) return "opencode could not import the smaller copy."
    return `${found.said}\nGo on in it: opencode -s ${found.session.info.id}`
  }

  return {
    config: async (config) => {
      config.command = {
        condense: { template: "$ARGUMENTS", description: "Write a smaller copy of this session, without a model" },
        ...config.command,
      }
      if (config.agent?.compaction?.model) return // The user chose another model for it.
      const limit = { context: 10_000_000, output: 100_000 }
      config.provider = {
        ...config.provider,
        [PROVIDER]: {
          npm: "@ai-sdk/openai-compatible",
          name: "condense",
          options: { baseURL: "http://127.0.0.1:9", apiKey: "none", fetch: answer },
          models: { compaction: { name: "Compaction without a model", limit } },
        },
      }
      config.agent = {
        ...config.agent,
        compaction: { ...config.agent?.compaction, model: `${PROVIDER}/compaction` },
      }
    },
    "command.execute.before": async (input) => {
      if (input.command !== "condense") return
      const text = await copied(input.sessionID, input.arguments.trim())
      // Shown to the user and not to the model. The error keeps opencode from asking one.
      const parts = [{ type: "text", text, ignored: true }]
      await client.session.prompt({ path: { id: input.sessionID }, body: { noReply: true, parts } })
      throw new Error("condense has answered.")
    },
    "chat.params": async (input) => {
      if (input.model?.providerID !== PROVIDER) windows.set(input.sessionID, input.model?.limit?.context)
    },
    "chat.headers": async (input, { headers }) => {
      if (input.model?.providerID === PROVIDER) headers[SESSION] = input.sessionID
    },
    "experimental.session.compacting": async (input) => {
      ends.delete(input.sessionID)
      compacting.add(input.sessionID)
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const last = messages.at(-1)?.info
      if (last && compacting.delete(last.sessionID)) ends.set(last.sessionID, last.id)
    },
  }
}
