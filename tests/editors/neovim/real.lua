-- The plugin against the real server with real weights, as a user drives it.
package.path = vim.env.WINNOW_SCRIPTS .. "/?.lua;" .. package.path
local harness = require("harness")
local check, eventually, press = harness.check, harness.eventually, harness.press
local text, stage = harness.text, harness.stage
local api = vim.api

local workspace = vim.env.WINNOW_WORKSPACE
local messages = harness.record_messages()
local client ---@type vim.lsp.Client
local results = {} -- of winnow/ask
local kept -- what was kept for the last question, and what the buffer showed then
local streams = {} -- by request: what was streamed before the result came

local function server_status()
  return require("winnow.status").of(client)
end

local function idle()
  return eventually(function()
    local status = server_status()
    return status and status.questions.running == 0 and status.questions.waiting == 0
  end)
end

local function answered(count)
  return eventually(function()
    return #results == count
  end)
end

--- Listen in on the plugin's requests without changing them.
local function listen()
  local requests = require("winnow.requests")
  local send = requests.send
  requests.send = function(to, method, params, bufnr, listener)
    local stream, on_kept, on_delta, on_end = {}, listener.on_kept, listener.on_delta, listener.on_end
    listener.on_kept = on_kept and function(spans)
      on_kept(spans)
      kept = { spans = spans, text = text(), before = #stream }
    end
    listener.on_delta = on_delta and function(piece)
      table.insert(stream, piece)
      on_delta(piece)
    end
    listener.on_end = function(outcome)
      on_end(outcome)
      if outcome.result and method == "winnow/ask" then
        table.insert(results, outcome.result)
        table.insert(streams, stream)
      end
    end
    return send(to, method, params, bufnr, listener)
  end
end

local function attaching()
  vim.cmd.edit(workspace .. "/greeting.py")
  check(
    "the server attaches",
    eventually(function()
      client = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1]
      return client
    end)
  )
  check(
    "the status line says something",
    eventually(function()
      return server_status() and require("winnow").status() ~= ""
    end),
    require("winnow").status()
  )
end

local function asking()
  vim.fn.search("def greeting_for")
  vim.cmd("WinnowAsk What does the function `greeting_for` do?")
  local answer = api.nvim_get_current_buf()
  check("a question is answered", answered(1), text())
  local result, stream = results[1], streams[1]
  check("the answer streams before it is whole", #stream > 1, #stream)
  check("the pieces are the answer", table.concat(stream) == result.answer, { stream, result.answer })
  check("the buffer holds the answer", text():find(result.answer, 1, true), text())
  local first = kept and ("- `greeting.py:%d"):format(kept.spans[1].location.range.start.line + 1)
  check("what was kept is shown before the answer", kept and kept.before == 0 and kept.text:find(first, 1, true), kept)
  check("it stays above the answer", text():find("Kept:", 1, true) < text():find(result.answer, 1, true), text())
  check("the answer cites the function", #result.citations > 0, result)
  vim.cmd("WinnowAsk And what does it return?")
  check("a follow-up is answered in the same buffer", answered(2) and api.nvim_get_current_buf() == answer, text())
  check("a follow-up is in the same conversation", results[1].conversation == results[2].conversation)
end

local function jumping()
  local location = results[1].citations[1]
  press("gg")
  vim.fn.search("^Sources:")
  vim.fn.search("^- ")
  press("<CR>")
  local at = { vim.uri_from_bufnr(0), api.nvim_win_get_cursor(0)[1] - 1 }
  check(
    "a citation leads to its line",
    vim.deep_equal(at, { location.uri, location.range.start.line }),
    { at, location }
  )
end

local function acting()
  harness.edit(workspace .. "/greeting.py")
  vim.fn.search("def greeting_for")
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title == "How is this used?"
    end,
  })
  check("a code action is answered", answered(3), text())
  check("its answer streams into an answer buffer", text():find(results[3].answer, 1, true) and #streams[3] > 1, text())
end

local function explaining()
  vim.cmd.wincmd("p")
  vim.fn.search("def greeting_for")
  local line = vim.fn.line(".") - 1
  local range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 3 } }
  local problem = { range = range, message = "missing return type", severity = 2, source = "mypy" }
  local namespace = vim.lsp.diagnostic.get_namespace(client.id, false)
  vim.diagnostic.set(
    namespace,
    0,
    { { lnum = line, col = 0, message = problem.message, user_data = { lsp = problem } } }
  )
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return vim.startswith(action.title, "Explain this problem")
    end,
  })
  check("a diagnostic's code action is answered", answered(4), text())
  check("the diagnostic is part of the question", text():find("missing return type", 1, true), text())
  vim.cmd.wincmd("p")
  vim.cmd("WinnowExplain diagnostic")
  check("WinnowExplain diagnostic is answered", answered(5) and text():find("missing return type", 1, true), text())
  vim.cmd.wincmd("p")
  press("4ggVj:WinnowExplain<CR>")
  check("a visual selection is explained", answered(6) and text():find("greeting.py:4-5", 1, true), text())
end

local function queueing()
  vim.cmd("WinnowNew What is in bulk.py?")
  local first = api.nvim_get_current_buf()
  vim.cmd.wincmd("p")
  vim.cmd("WinnowNew What is in greeting.py?")
  check(
    "the second question shows its place in the queue",
    eventually(function()
      return stage():find("waiting, 1 before this one", 1, true)
    end),
    stage()
  )
  press("<C-c>")
  vim.cmd.sbuffer(first)
  check("cancelling a waiting question leaves the running one", answered(7) and not text():find("Cancelled"), text())
end

local function cancelling()
  vim.cmd("WinnowNew Which names does bulk.py define, and how do they differ from one another?")
  check(
    "the prefill shows",
    eventually(function()
      return stage():find("^⋯ reading")
    end),
    stage()
  )
  press("<C-c>")
  check("cancelling during prefill stops the work", text():find("Cancelled", 1, true) and idle(), server_status())
  vim.cmd("WinnowNew Tell a long story about the greeting.")
  local before = api.nvim_buf_line_count(0)
  check(
    "the decoding shows",
    eventually(function()
      return #api.nvim_buf_get_lines(0, before - 1, before, false)[1] > 0
    end),
    text()
  )
  press("<C-c>")
  check("cancelling during decode stops the work", text():find("Cancelled", 1, true) and idle(), server_status())
end

local function editing()
  harness.edit(workspace .. "/greeting.py")
  api.nvim_buf_set_lines(
    0,
    0,
    0,
    true,
    { "def frobnicate_widgets(widgets):", '    """Frobnicate all widgets."""', "    return None", "", "" }
  )
  vim.cmd("WinnowSpans Where are widgets frobnicated by frobnicate_widgets?")
  local found = "greeting%.py:1%-%d+` function `frobnicate_widgets`"
  check(
    "spans reflect unsaved edits",
    eventually(function()
      return text():find(found)
    end),
    text()
  )
  check("the edit is not saved", vim.bo[vim.fn.bufnr("greeting.py")].modified)
end

local function checking()
  vim.cmd("helptags ALL")
  vim.cmd("help :WinnowAsk")
  check("help is found", vim.bo.filetype == "help" and text():find("*:WinnowAsk*", 1, true))
  vim.cmd("checkhealth winnow")
  local report = text()
  check("checkhealth has nothing to complain about", not report:find("ERROR") and not report:find("WARNING"), report)
  check(
    "checkhealth sees the server and its models",
    report:find("server of ") and report:find("smollm2%-135m: ok"),
    report
  )
  check("the user saw no message", #messages == 0, messages)
end

local function dying()
  harness.edit({ workspace .. "/greeting.py", bang = true })
  vim.cmd("WinnowNew Tell a long story about greetings.")
  for _, process in ipairs(api.nvim_get_proc_children(vim.uv.os_getpid())) do
    vim.uv.kill(process, "sigkill")
  end
  check(
    "the end of the server is told",
    eventually(function()
      return text():find("the server stopped", 1, true)
    end),
    text()
  )
  vim.cmd.wincmd("p")
  vim.cmd.edit({ bang = true })
  check(
    "editing a file starts the server again",
    eventually(function()
      return #vim.lsp.get_clients({ name = "winnow", bufnr = 0 }) == 1
    end)
  )
  vim.cmd.wincmd("p")
  vim.cmd("WinnowAsk What is `greeting_for`?")
  check("the new server answers", answered(8), text())
end

harness.run(function()
  local model = vim.env.WINNOW_MODEL
  vim.lsp.config("winnow", {
    cmd = { vim.env.WINNOW_PYTHON, "-m", "winnow_lsp", "serve" },
    settings = {
      winnow = { drafter = model, target = model, budget = 200, maxTokens = 24, cacheMegabytes = 30 },
    },
  })
  vim.lsp.enable("winnow")
  listen()
  for _, part in ipairs({
    attaching,
    asking,
    jumping,
    acting,
    explaining,
    queueing,
    cancelling,
    editing,
    checking,
    dying,
  }) do
    part()
  end
end)
