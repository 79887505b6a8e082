-- Changes of the code with the real server, whose target is one that knows the answers.
package.path = vim.env.WINNOW_SCRIPTS .. "/?.lua;" .. package.path
local harness = require("harness")
local check, eventually, text = harness.check, harness.eventually, harness.text
local api = vim.api

local workspace = vim.env.WINNOW_WORKSPACE
local messages = harness.record_messages()
local shown = {} -- prompts of vim.ui.select
local choose = "Apply"
local meanwhile -- what happens while the user looks
local client ---@type vim.lsp.Client

vim.ui.select = function(items, options, on_choice)
  table.insert(shown, options.prompt)
  if meanwhile then
    meanwhile()
  end
  for _, item in ipairs(items) do
    if item.title == choose then
      return on_choice(item)
    end
  end
  on_choice(nil)
end

local function act(title)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title == title
    end,
  })
end

local function changed(words)
  return eventually(function()
    return text():find(words, 1, true)
  end)
end

local function go_to(words)
  vim.cmd.drop(workspace .. "/greeting.py")
  vim.fn.search(words)
end

local function attaching()
  go_to("def greet_all")
  check(
    "the server attaches",
    eventually(function()
      client = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1]
      return client
    end)
  )
end

local function documenting()
  local before = text()
  act("Document this")
  local docstring = '    """Greet everybody, politely."""'
  check("a code action documents", changed(docstring), { text(), messages })
  check("the change was shown", #shown == 1 and shown[1]:find("+" .. docstring, 1, true), shown)
  check("no other line changed", text():gsub(vim.pesc(docstring .. "\n"), "") == before, text())
  vim.cmd("silent undo")
  check("one undo takes it back", text() == before, text())
end

local function fixing()
  go_to("opening = ")
  local line = vim.fn.line(".") - 1
  local linter = api.nvim_create_namespace("linter")
  vim.diagnostic.set(linter, 0, { { lnum = line, col = 4, message = "the greetings are mixed up", source = "linter" } })
  choose = "Discard"
  local before = text()
  vim.cmd("WinnowEdit fix")
  check(
    "a change is not made against the user's will",
    eventually(function()
      return #shown == 2
    end) and not text():find('"Dear" if polite else "Hello"', 1, true)
  )
  choose = "Apply"
  vim.cmd("WinnowEdit fix")
  check("WinnowEdit fixes what another linter found", changed('"Dear" if polite else "Hello"'), { text(), messages })
  vim.cmd("silent undo")
  check("one undo takes the fix back", text() == before, text())
end

local function interfering()
  go_to("opening = ")
  meanwhile = function()
    meanwhile = nil
    api.nvim_buf_set_lines(0, 0, 0, true, { "# typed meanwhile" })
    client:request("winnow/server", nil, function() end) -- Neovim sends edits late, but before any request
  end
  vim.cmd("WinnowEdit fix")
  check(
    "text that changed meanwhile is left alone",
    eventually(function()
      return (messages[#messages] or ""):find("TextChangedError", 1, true)
    end) and not text():find('"Dear" if polite', 1, true),
    { messages, text() }
  )
  vim.cmd("silent undo")
end

local function refusing()
  vim.cmd.drop(workspace .. "/greeting.py")
  vim.diagnostic.reset()
  vim.cmd("1WinnowEdit fix")
  check("a fix needs a problem", messages[#messages]:find("no diagnostic", 1, true), messages)
  vim.cmd("WinnowEdit rewrite")
  check("an unknown change is refused", messages[#messages]:find('"rewrite" is not a change', 1, true), messages)
  vim.cmd("1WinnowEdit document")
  check(
    "what cannot be changed says why",
    eventually(function()
      return messages[#messages]:find("NotApplicableError", 1, true)
    end),
    messages
  )
end

harness.run(function()
  vim.lsp.config("winnow", {
    cmd = { vim.env.WINNOW_PYTHON, "-m", "winnow_lsp", "serve" },
    settings = { winnow = { drafter = vim.env.WINNOW_MODEL, target = vim.env.WINNOW_TARGET, budget = 400 } },
  })
  vim.lsp.enable("winnow")
  for _, part in ipairs({ attaching, documenting, fixing, interfering, refusing }) do
    part()
  end
end)
