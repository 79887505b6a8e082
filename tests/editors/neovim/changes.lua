-- Changes of the code with the real server, whose target is one that knows the answers.
package.path = vim.env.WINNOW_SCRIPTS .. "/?.lua;" .. package.path
local harness = require("harness")
local check, eventually, text = harness.check, harness.eventually, harness.text
local api = vim.api

local workspace = vim.env.WINNOW_WORKSPACE
local messages = harness.record_messages()
local client ---@type vim.lsp.Client

local function press(keys)
  api.nvim_feedkeys(api.nvim_replace_termcodes(keys, true, true, true), "xm", false)
end

--- Resolves once the proposed text is in front; the text and the bar above it.
local function proposed()
  eventually(function()
    return vim.wo.winbar ~= "" and vim.wo.diff
  end)
  return text(), vim.wo.winbar
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
  local after, bar = proposed()
  check("a code action proposes a change as a diff", after:find(docstring, 1, true), { after, messages })
  check("the bar says what it is, and how to decide", bar:find("Document `greet_all`", 1, true) and bar:find("[a]ccept", 1, true), bar)
  press("a")
  check("accepting documents", changed(docstring), { text(), messages })
  check("the diff is gone", #api.nvim_list_tabpages() == 1 and not vim.wo.diff)
  check("no other line changed", text():gsub(vim.pesc(docstring .. "\n"), "") == before, text())
  vim.cmd("silent undo")
  check("one undo takes it back", text() == before, text())
end

local function accepting_in_any_windows()
  local before, docstring = text(), "Greet everybody, politely."
  vim.o.switchbuf = "useopen"
  vim.cmd("split")
  local windows = #api.nvim_list_wins()
  go_to("def greet_all")
  vim.cmd("WinnowEdit document")
  proposed()
  check("a proposal has a tab page of its own with 'switchbuf'", #api.nvim_list_tabpages() == 2)
  press("a")
  check("accepting leaves the windows", changed(docstring) and #api.nvim_list_wins() == windows, { text(), messages })
  vim.cmd("silent undo")
  vim.cmd("only")
  vim.o.switchbuf = ""
  go_to("def greet_all")
  vim.cmd("WinnowEdit document")
  proposed()
  vim.cmd("tabonly")
  press("a")
  check("a change is made where no other tab page is left", changed(docstring), { text(), messages })
  check("its diff is gone too", #api.nvim_list_wins() == 1 and not vim.wo.diff)
  vim.cmd("silent undo")
  check("one undo takes back what was accepted there", text() == before, text())
end

local function fixing()
  go_to("opening = ")
  local line = vim.fn.line(".") - 1
  local linter = api.nvim_create_namespace("linter")
  vim.diagnostic.set(linter, 0, { { lnum = line, col = 4, message = "the greetings are mixed up", source = "linter" } })
  local fixed = '"Dear" if polite else "Hello"'
  local before = text()
  vim.cmd("WinnowEdit fix")
  check("WinnowEdit proposes a fix of what another linter found", proposed():find(fixed, 1, true), { text(), messages })
  local first = api.nvim_get_current_buf()
  press("r")
  eventually(function()
    return api.nvim_get_current_buf() ~= first and not api.nvim_buf_is_valid(first)
  end)
  check("another proposal takes its place", proposed():find(fixed, 1, true) and #api.nvim_list_tabpages() == 2, messages)
  press("q")
  check("a change is not made against the user's will", text() == before and #api.nvim_list_tabpages() == 1, text())
  vim.cmd("WinnowEdit fix")
  proposed()
  press("a")
  check("an accepted fix is made", changed(fixed), { text(), messages })
  vim.cmd("silent undo")
  check("one undo takes the fix back", text() == before, text())
end

local function rejecting()
  vim.diagnostic.reset()
  go_to("opening = ")
  local linter = api.nvim_create_namespace("linter")
  vim.diagnostic.set(linter, 0, { { lnum = vim.fn.line(".") - 1, col = 4, message = "half a line", source = "linter" } })
  local before = text()
  vim.cmd("WinnowEdit fix")
  local after, bar = proposed()
  check("what would not parse is shown as rejected", bar:find("Rejected: ", 1, true) and after:find("opening = (", 1, true), bar)
  press("a")
  check("and is not made", messages[#messages]:find("would no longer parse", 1, true), messages)
  press("q")
  check("nor is anything changed", text() == before, text())
end

local function interfering()
  vim.diagnostic.reset()
  go_to("def greet_all")
  vim.cmd("WinnowEdit document")
  proposed()
  local file = vim.uri_to_bufnr(vim.uri_from_fname(workspace .. "/greeting.py"))
  api.nvim_buf_set_lines(file, 0, 0, true, { "# typed meanwhile" })
  press("a")
  check(
    "text that changed meanwhile is left alone",
    messages[#messages]:find("has changed since", 1, true)
      and not table.concat(api.nvim_buf_get_lines(file, 0, -1, true), "\n"):find("Greet everybody", 1, true),
    messages
  )
  press("q")
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
      return messages[#messages]:find("put the cursor on the function", 1, true)
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
  for _, part in ipairs({ attaching, documenting, accepting_in_any_windows, fixing, rejecting, interfering, refusing }) do
    part()
  end
end)
