-- The plugin against a server that does as the script says: what it sends, shows and keeps.
package.path = vim.env.WINNOW_SCRIPTS .. "/?.lua;" .. package.path
local harness, server = require("harness"), require("fake_server")
local check, eventually, press = harness.check, harness.eventually, harness.press
local text, stage = harness.text, harness.stage
local api = vim.api

local workspace = vim.env.WINNOW_WORKSPACE
local messages = harness.record_messages()

local function open(path)
  vim.cmd.edit(vim.fs.joinpath(workspace, path))
end

local function attach()
  eventually(function()
    return #vim.lsp.get_clients({ name = "winnow", bufnr = 0 }) == 1
  end)
end

local function location(path, first, character, last)
  local range = { start = { line = first - 1, character = character }, ["end"] = { line = last, character = 0 } }
  return { uri = vim.uri_from_fname(vim.fs.joinpath(workspace, path)), range = range }
end

local function span(path, first, last, kind, name)
  return { location = location(path, first, 0, last), kind = kind, name = name, score = 1, tokens = 9, features = {} }
end

local function result(answer, citations)
  local question = server.last().params.question
  return { question = question, answer = answer, finish = "stop", citations = citations or {}, notices = {}, spans = {}, stats = {} }
end

local function stage_is(message, bufnr)
  return eventually(function()
    return stage(bufnr) == message
  end)
end

local function shown(words, bufnr)
  return eventually(function()
    return text(bufnr):find(words, 1, true)
  end)
end

local function unattached()
  check("nothing is loaded before a command runs", package.loaded["winnow"] == nil)
  vim.cmd("WinnowAsk why?")
  check(
    "without a server the user is told what to do",
    (messages[1] or ""):find("no Winnow server is attached.*vim.lsp.enable"),
    messages
  )
  check("the status is empty without a server", require("winnow").status() == "")
end

--- A home directory that is a repository, as with dotfiles.
local function home()
  local before, own = vim.env.HOME, vim.fs.joinpath(vim.fs.dirname(workspace), "home")
  for _, directory in ipairs({ ".git", "notes", "project/sub" }) do
    vim.fn.mkdir(vim.fs.joinpath(own, directory), "p")
  end
  vim.fn.writefile({}, vim.fs.joinpath(own, "project", "pyproject.toml"))
  vim.env.HOME = own
  server.die(0, 9)
  open("../home/project/sub/a.py")
  attach()
  local root = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1].root_dir
  check("a project in a home directory that is a repository is one", root == vim.fs.joinpath(own, "project"), root)
  server.die(0, 9)
  open("../home/notes/a.txt")
  local attached = vim.wait(100, function()
    return #vim.lsp.get_clients({ name = "winnow", bufnr = 0 }) > 0
  end)
  vim.cmd("WinnowAsk why?")
  local said = (messages[#messages] or ""):find("no Winnow server is attached.*home directory")
  check("the home directory itself is not", said and not attached, messages)
  local help = table.concat(vim.fn.readfile(vim.fs.joinpath(vim.env.WINNOW_PLUGIN, "doc", "winnow.txt")), "\n")
  assert(loadstring(help:match("home directory is no project.->lua\n(.-)\n<")))()
  attach()
  root = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1].root_dir
  check("the home directory is one where the user says so", root == own, root)
  open("../home/project/sub/b.py")
  attach()
  root = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1].root_dir
  check("other buffers keep their projects then", root == vim.fs.joinpath(own, "project"), root)
  vim.env.HOME = before
end

--- A repository that is a whole disk of Windows, for the plugin's configuration and that of nvim-lspconfig.
local function disk()
  local os_uname, fs_realpath, fs = vim.uv.os_uname, vim.uv.fs_realpath, vim.fs
  vim.uv.os_uname = function()
    return { sysname = "Windows_NT" }
  end
  vim.uv.fs_realpath = function(path)
    return path == "D:/" and "D:\\" or fs_realpath(path)
  end
  local editors = fs.joinpath(fs.dirname(vim.env.WINNOW_SCRIPTS), "../../lsp_server/editors")
  package.loaded["vim.fs"] = nil
  vim.fs = require("vim.fs")
  vim.fs.root = function()
    return "D:/"
  end
  local roots = {}
  for _, path in ipairs({ "nvim", "registries/nvim-lspconfig" }) do
    dofile(fs.joinpath(editors, path, "lsp/winnow.lua")).root_dir(0, function(root)
      roots[path] = root
    end)
  end
  check("a whole disk of Windows is no project", vim.tbl_isempty(roots), roots)
  vim.uv.os_uname, vim.uv.fs_realpath, vim.fs, package.loaded["vim.fs"] = os_uname, fs_realpath, fs, fs
end

local function prompting()
  open("names.py")
  attach()
  local ask = vim.ui.input
  vim.ui.input = function(_, go)
    go(nil)
  end
  vim.cmd("2,3WinnowAsk")
  vim.ui.input = ask
  check("a question that is not typed is not asked", #server.asked == 0)
end

local function streaming()
  local options = server.initialized.initializationOptions
  check("the settings come with the first message", options.winnow.target == "some-model", options)
  vim.cmd("1,2WinnowAsk what is this?")
  local asked = server.last()
  local range = { start = { line = 0, character = 0 }, ["end"] = { line = 1, character = 14 } }
  check(
    "a range is sent as whole lines in the server's encoding",
    vim.deep_equal(asked.params.range, range),
    asked.params
  )
  check("the answer's window is entered", api.nvim_buf_get_name(0):find("winnow://answer", 1, true))
  local heading = text()
  asked.kept({ span("names.py", 2, 2, "top_level", "") }, true)
  check("what was found by words alone says so", shown("Found so far:\n\n- `names.py:2`"), text())
  asked.kept({ span("names.py", 1, 1, "imports", "") })
  check("kept code is shown before the answer", shown("Kept:\n\n- `names.py:1` imports\n"), text())
  local spans = { span("sub/far.py", 3, 4, "function", "far") }
  for line = 1, 8 do
    table.insert(spans, span("names.py", line, line, "top_level", ""))
  end
  asked.kept(spans)
  check("what is known better replaces it", shown("- `sub/far.py:3-4` function `far`\n- `names.py:1`"), text())
  check("a long list is cut", shown("`names.py:7` top_level\n- and 1 more\n") and not text():find("py:8"), text())
  asked.stage("reading 512 of 2,900 tokens, about 14 s")
  check("the stage is shown", stage_is("⋯ reading 512 of 2,900 tokens, about 14 s"), stage())
  local answer = api.nvim_get_current_win()
  vim.fn.search("far.py:3")
  press("<CR>")
  check(
    "kept code is jumped to while the answer is on its way",
    vim.fn.expand("%:t") == "far.py" and api.nvim_win_get_cursor(0)[1] == 3,
    api.nvim_buf_get_name(0)
  )
  open("names.py")
  api.nvim_set_current_win(answer)
  press("G")
  asked.delta(0, "one ")
  asked.delta(2, "three\nfour")
  asked.delta(1, "two ")
  check("deltas are put in order", shown("\n\none two three\nfour"), text())
  check("kept code stays above the answer", vim.startswith(text(), heading) and shown("- and 1 more\n\none two"), text())
  check("the cursor at the end follows", api.nvim_win_get_cursor(0)[1] == api.nvim_buf_line_count(0))
  press("gg")
  asked.delta(3, "\nfive")
  check("a cursor above the end stays", shown("four\nfive") and api.nvim_win_get_cursor(0)[1] == 1)
  check("the user can not edit the answer", not vim.bo.modifiable and not vim.bo.modified)
  check("the answer leaves no undo history", vim.fn.undotree().seq_last == 0, vim.fn.undotree())
  local done = result(
    "one two three\nfour\nfive, see `names.py:3` or\n(sub)/far away.py:2\n" .. ('"k":1,'):rep(300),
    { location("names.py", 2, 4, 2), location("sub/far.py", 1, 0, 4) }
  )
  done.citedBefore = { { location = location("sub/far.py", 3, 0, 4), commit = "1a2b3c4d5e6f" } }
  done.sentences = {
    { start = 0, ["end"] = 13, places = { location("names.py", 2, 4, 2) }, support = 0.9, unknown = {} },
    { start = 14, ["end"] = 18, places = {}, support = 0.1, unknown = { { start = 14, ["end"] = 18 } } },
    { start = 19, ["end"] = 41, places = { location("names.py", 2, 4, 2) }, support = 0.9, unknown = {} },
  }
  asked.answer(done)
  check("the result completes what was streamed", shown("four\nfive, see `names.py:3` or\n(sub)/far away.py:2\n"), text())
  check("citations are listed", shown("- [1] `names.py:2`\n- `sub/far.py:1-4`"), text())
  local notes = vim.tbl_map(function(mark)
    return { mark[2], mark[3], mark[4].virt_text[1][1] }
  end, api.nvim_buf_get_extmarks(0, api.nvim_get_namespaces()["winnow.notes"], 0, -1, { details = true }))
  local first = vim.fn.search("^one two three", "bnw") - 1
  local expected = { { first, 13, "[1]" }, { first + 1, 4, "[not found in the code shown][four is no name in this workspace]" } }
  table.insert(expected, { first + 2, 22, "[1]" })
  check("sentences have the numbers of their places", vim.deep_equal(notes, expected), notes)
  check("so are lines that only a commit has", shown("far.py:1-4`\n- `1a2b3c4d5e:sub/far.py:3-4`"), text())
  check("the stage goes with the end", stage() == "")
end

local function jumping()
  local answer = api.nvim_get_current_win()
  vim.fn.search("^Sources:")
  vim.fn.search("^- .* `names.py:2`")
  press("<CR>")
  local cursor = api.nvim_win_get_cursor(0)
  check("a listed citation leads to its line and column", vim.deep_equal(cursor, { 2, 4 }), cursor)
  check("the answer stays in sight", api.nvim_win_is_valid(answer) and api.nvim_get_current_win() ~= answer)
  api.nvim_set_current_win(answer)
  vim.fn.search([[see .\zsnames.py:3]])
  press("gf")
  check(
    "path:line in the text leads to its line",
    api.nvim_win_get_cursor(0)[1] == 3 and vim.fn.expand("%:t") == "names.py"
  )
  api.nvim_set_current_win(answer)
  vim.fn.search("away")
  press("gf")
  check("a path may have spaces and brackets", vim.fn.expand("%:t:r") == "far away", api.nvim_buf_get_name(0))
  api.nvim_set_current_win(answer)
  vim.fn.search('^"k"')
  local stat, tried = vim.uv.fs_stat, 0
  vim.uv.fs_stat = function(...)
    tried = tried + 1
    return stat(...)
  end
  press("gf")
  vim.uv.fs_stat = stat
  check("in a line of many numbers few paths are looked for", tried < 2000, tried)
  press("gg")
  press("<CR>")
  check("where nothing is cited the user is told", messages[#messages]:find("path:line", 1, true), messages)
end

local function conversations()
  local first = server.last().params.conversation
  vim.cmd("WinnowAsk and then?")
  local followed = server.last()
  check("a follow-up repeats the conversation", followed.params.conversation == first)
  check("a follow-up is asked in the same buffer", shown("## what is this?") and shown("## and then?"), text())
  local answer = api.nvim_get_current_buf()
  vim.cmd("WinnowAsk once more?")
  check(
    "an unanswered conversation takes no question",
    server.last() == followed and messages[#messages]:find("being written")
  )
  vim.cmd.wincmd("p")
  vim.cmd("WinnowAsk something else?")
  local other = server.last()
  check("a question from elsewhere meanwhile starts a conversation", other.params.conversation ~= first)
  check("a question without a range carries the cursor", other.params.position and not other.params.range, other.params)
  other.stage("waiting, 1 before this one")
  check("the position in the queue is shown", stage_is("⋯ waiting, 1 before this one"), stage())
  followed.delta(0, "first")
  other.delta(0, "second")
  check("each answer comes in its own buffer", shown("first", answer) and shown("second") and not text():find("first"))
  followed.answer(result("first"))
  other.answer(result("second"))
  vim.cmd("WinnowNew afresh?")
  check("WinnowNew starts a conversation", server.last().params.conversation ~= other.params.conversation)
end

local function thinking()
  open("names.py")
  vim.cmd("WinnowNew why at all?")
  local asked = server.last()
  asked.kept({ span("names.py", 1, 1, "imports", "") })
  asked.delta(0, "", "Hm, one")
  asked.stage("thinking, 12 s")
  check("the user learns that the model thinks", stage_is("⋯ thinking, 12 s"), stage())
  check("kept code stays while the model thinks", shown("Kept:\n"), text())
  asked.delta(1, "Because.")
  check("the answer comes without the thought", shown("Because.") and not text():find("Hm, one"), text())
  local done = result("Because.")
  done.thinking = { text = "Hm, one\nor two?", seconds = 12.4, tokens = 1340 }
  asked.answer(done)
  check("the thought is shown at the end", shown("Because.\n\nThought for 12 s (1340 tokens)\nHm, one\nor two?"), text())
  local last = api.nvim_buf_line_count(0)
  check("the thought is folded away", vim.fn.foldclosed(last) == last - 2, vim.fn.foldclosed(last))
end

local function cancelling()
  local asked = server.last()
  local buffer = api.nvim_get_current_buf()
  asked.kept({ span("names.py", 1, 1, "imports", "") })
  press("<C-c>")
  check("<C-c> cancels", server.cancelled[#server.cancelled] == asked.id, server.cancelled)
  check("a cancelled answer says so", text():find("> Cancelled.", 1, true) and stage() == "", text())
  check("kept code stays when an answer is cancelled", shown("Kept:\n\n- `names.py:1` imports\n\n> Cancelled."), text())
  asked.delta(0, "late")
  asked.answer(result("late"))
  vim.cmd("WinnowAsk after all?")
  local again = server.last()
  again.answer(result("timely"))
  check("what comes late is dropped", shown("timely") and not text():find("late"), text())
  check("a question that was cancelled before its answer is no turn", again.params.earlier == nil, again.params)
  vim.cmd("WinnowAsk tell all")
  server.last().delta(0, "It all be")
  press("<C-c>")
  vim.cmd("WinnowAsk go on")
  local brought = server.last().params.earlier
  check("a follow-up knows the question that was cancelled", brought[2].question == "tell all", brought)
  check("and its answer as far as it was shown", brought[2].answer == "It all be", brought)
  server.last().answer(result("gan."))
  vim.cmd.wincmd("p")
  vim.cmd("WinnowAsk one?")
  vim.cmd.wincmd("p")
  vim.cmd("WinnowNew two?")
  vim.cmd.wincmd("p")
  vim.cmd("WinnowCancel")
  check("WinnowCancel cancels every question", #server.cancelled == 4, server.cancelled)
  vim.cmd("WinnowNew gone?")
  vim.cmd.bdelete()
  check("a question ends with its buffer", server.cancelled[#server.cancelled] == server.last().id)
  vim.cmd.sbuffer(buffer)
end

local function failing()
  vim.cmd("WinnowAsk will it work?")
  server.last().fail({ code = -32803, message = "no such model;\npull it", data = { kind = "ModelNotFoundError" } })
  check("a failure is shown in its words", shown("> no such model;\n> pull it"), text())
end

local function progress()
  local seen = {}
  api.nvim_create_autocmd("LspProgress", {
    callback = function(event)
      table.insert(seen, event.data.params.value)
    end,
  })
  vim.cmd("WinnowAsk progress?")
  local asked = server.last()
  asked.delta(0, "text")
  asked.stage("answering")
  server.notification("$/progress", { token = 7, value = { kind = "report", message = "indexing" } })
  eventually(function()
    return #seen == 2
  end)
  local heard = { seen[1].message, seen[2].message, #seen }
  check("progress reaches Neovim, deltas do not", vim.deep_equal(heard, { "answering", "indexing", 2 }), seen)
  asked.answer(result("text"))
end

local function status()
  local events = 0
  api.nvim_create_autocmd("User", {
    pattern = "WinnowStatus",
    callback = function()
      events = events + 1
    end,
  })
  server.notification("winnow/status", { state = "ready", message = "ready, 12 files" })
  check(
    "the status line has the server's message",
    eventually(function()
      return require("winnow").status() == "ready, 12 files"
    end),
    require("winnow").status()
  )
  check("WinnowStatus is announced", events == 1, events)
end

local function explaining()
  vim.cmd.wincmd("p")
  local asked = #server.asked
  vim.cmd("WinnowExplain everything")
  check("what can not be explained is refused", #server.asked == asked and messages[#messages]:find("usage"), messages)
  vim.cmd("1WinnowExplain diagnostic")
  check("no diagnostic, no question", #server.asked == asked and messages[#messages]:find("no diagnostic"), messages)
  local problem = { lnum = 2, col = 0, message = "undefined: x", source = "ruff", code = "F821" }
  vim.diagnostic.set(api.nvim_create_namespace("linter"), 0, { problem })
  vim.cmd("3WinnowExplain diagnostic")
  check("a diagnostic is part of the question", server.last().params.diagnostics[1].message == "undefined: x (ruff F821)")
  server.last().answer(result("It is undefined."))
  check("an explanation is shown", shown("It is undefined."), text())
  local arguments = {
    {
      textDocument = { uri = vim.uri_from_fname(workspace .. "/names.py") },
      range = location("names.py", 1, 0, 1).range,
      about = "usage",
    },
  }
  vim.lsp
    .get_clients({ name = "winnow" })[1]
    :exec_cmd({ title = "Uses", command = "winnow.explain", arguments = arguments })
  check("winnow.explain streams like the command", server.last().params.about == "usage")
  server.last().answer(result("Everywhere."))
end

local function spans()
  vim.cmd("WinnowSpans where?")
  local asked = server.last()
  check("spans are asked without a conversation", asked.method == "winnow/spans" and not asked.params.conversation)
  local span = {
    location = location("sub/far.py", 1, 0, 4),
    score = 3.5,
    features = { words = 0.5, heads = 3, names = 0 },
    tokens = 40,
    kind = "function",
    name = "far",
  }
  asked.answer({
    spans = { span },
    stats = { keptTokens = 40, workspaceTokens = 900 },
    notices = { "No target is needed." },
  })
  check(
    "spans are listed with their reasons",
    shown("- `sub/far.py:1-4` function `far`, 40 tokens, score 3.50 (heads +3.00, words +0.50)"),
    text()
  )
  check("notices are shown", shown("> No target is needed."), text())
  press("gg")
  vim.fn.search("^- ")
  press("gf")
  check("a span leads to its code", vim.fn.expand("%:t") == "far.py")
end

local function changing()
  open("names.py")
  check(
    "a question may begin with what changed",
    vim.deep_equal(vim.fn.getcompletion("WinnowAsk @c", "cmdline"), { "@changes", "@commit" })
  )
  check("or when it changed", vim.deep_equal(vim.fn.getcompletion("WinnowAsk @w", "cmdline"), { "@when" }))
  vim.cmd("WinnowNew @branch what could this break?")
  check("what changed is left to the server", server.last().params.question == "@branch what could this break?")
  server.last().answer(result("Nothing."))
  vim.cmd.wincmd("p")
  vim.cmd("WinnowReview main...HEAD")
  local asked = server.last()
  check(
    "a review is a command of the server",
    asked.params.command == "winnow.review" and asked.params.arguments[1].changes == "main...HEAD",
    asked.params
  )
  local finding = { location = location("sub/far.py", 3, 0, 4), reason = "it is wrong", confidence = "medium" }
  asked.answer({ title = "a change", findings = { finding } })
  eventually(function()
    return #vim.fn.getqflist() == 1
  end)
  local item = vim.fn.getqflist()[1] or {}
  check(
    "findings are in the quickfix list",
    item.lnum == 3 and item.end_lnum == 4 and item.text == "medium: it is wrong" and item.type == "W",
    item
  )
  vim.cmd.cclose()
  vim.cmd("WinnowReview nobody")
  server.last().fail({ code = -32803, message = "no commit is called", data = { kind = "RevisionError" } })
  check("a review that fails says why", eventually(function()
    return (messages[#messages] or ""):find("winnow: no commit is called", 1, true)
  end), messages)
  open("names.py")
  local code = api.nvim_get_current_win()
  local page = vim.fs.joinpath(workspace, "review.md")
  vim.fn.writefile({ "# Review" }, page)
  local shown_page = server.ask_client("window/showDocument", { uri = vim.uri_from_fname(page), takeFocus = true })
  local names = { api.nvim_buf_get_name(api.nvim_win_get_buf(code)), api.nvim_buf_get_name(0) }
  local beside = vim.endswith(names[1], "names.py") and vim.endswith(names[2], "review.md")
  check("the server's page of a review opens beside the code", shown_page.success and beside, names)
  vim.cmd.close()
  api.nvim_set_current_win(code)
  vim.cmd("WinnowReview staged")
  vim.cmd("WinnowCancel")
  check("a review can be cancelled", vim.list_contains(server.cancelled, server.last().id), server.cancelled)
  check("and says so", vim.list_contains(messages, "winnow: the review was cancelled"), messages)
  vim.cmd.wincmd("p")
end

local function dying()
  vim.cmd("WinnowNew who is there?")
  check("a conversation begins without earlier turns", server.last().params.earlier == nil, server.last().params)
  server.last().answer(result("It is me."))
  shown("It is me.")
  vim.cmd("WinnowAsk are you there?")
  server.last().delta(0, "I am")
  shown("I am")
  vim.cmd("WinnowReview branch")
  vim.wait(10) -- files that were opened attach with the next events, and would start another server
  server.die(0, 9)
  check("a review whose server dies says so", eventually(function()
    return table.concat(messages, "\n"):find("winnow: the server stopped", 1, true)
  end), messages)
  check("the end of the server is told", shown("> the server stopped (signal 9)"), text())
  check("the status goes with the server", require("winnow").status() == "", require("winnow").status())
  vim.cmd.wincmd("p")
  vim.cmd.edit()
  attach()
  vim.cmd.wincmd("p")
  vim.cmd("WinnowAsk again?")
  local turns = { { question = "who is there?", answer = "It is me." } }
  local brought = server.last().params.earlier
  check("a follow-up brings a new server the turns that were answered", vim.deep_equal(brought, turns), brought)
  server.last().answer(result("Here I am."))
  check("a new server answers", shown("Here I am.") and shown("It is me."), text())
  server.die(0, 9)
  local asked = #server.asked
  vim.cmd.wincmd("p")
  vim.fn.mkdir(vim.fs.joinpath(workspace, "..", "other", ".git"), "p")
  open("../other/here.py")
  attach()
  vim.cmd.wincmd("p")
  vim.cmd("WinnowAsk for whom?")
  local refused = messages[#messages]:find("no Winnow server is attached", 1, true)
  check("no other project's server is sent the conversation", #server.asked == asked and refused, messages)
  server.die(0, 9)
  vim.cmd.wincmd("p")
  server.initialized, server.start_ms = nil, 300
  open("names.py")
  vim.cmd.edit()
  eventually(function()
    return server.initialized
  end)
  vim.cmd("WinnowAsk from elsewhere?")
  server.start_ms = 0
  check("a question waits for a server that starts", server.last().params.question == "from elsewhere?", messages)
  brought = server.last().params.earlier
  check("the conversation goes on from the code too", #brought == 2 and brought[2].answer == "Here I am.", brought)
end

--- Questions within the seconds that a server needs to start, while that of another project runs.
local function starting()
  local function asked_of(path)
    return vim.endswith(vim.tbl_get(server.last(), "params", "textDocument", "uri") or "", path)
  end
  server.start_ms = 300
  open("../other/first.py")
  vim.cmd("WinnowNew the first thing?")
  local last = server.last()
  check("a question waits for the server of a file just opened", last.params.question == "the first thing?", messages)
  check("it goes to no other project's server", asked_of("other/first.py"), last.params)
  check("the user is told of the wait", messages[#messages] == "winnow: the server is starting", messages)
  vim.cmd("only!")
  server.die(0, 9)
  open("../other/there.py")
  vim.defer_fn(function()
    vim.cmd("split " .. vim.fs.joinpath(workspace, "sub/far.py"))
  end, 50)
  vim.cmd("WinnowExplain")
  check("code is explained where the user asked", asked_of("other/there.py"), server.last().params)
  vim.cmd("only!")
  server.die(0, 9)
  server.start_ms = 600000
  open("../other/nowhere.py")
  vim.defer_fn(function()
    vim.api.nvim_input("<C-c>")
  end, 50)
  local asked = #server.asked
  vim.cmd("WinnowAsk too early?")
  local late = messages[#messages]:find("still starting", 1, true)
  check("a server that does not start in time is no missing one", late and #server.asked == asked, messages)
  vim.cmd("WinnowAsk still too early?")
  check("it is waited for once", messages[#messages] == messages[#messages - 1], messages)
  vim.cmd("checkhealth winnow")
  check("checkhealth names it", text():find("server of .-other: not started yet"), text())
  vim.cmd.bdelete()
  server.start_ms = 0
  vim.lsp.stop_client(vim.lsp.get_clients({ name = "winnow", _uninitialized = true }), true)
end

local function health()
  local program = vim.fs.joinpath(workspace, "winnow")
  local none = [=[[{"name": "small", "roles": ["drafter", "target"], "state": "missing"}]]=]
  vim.fn.writefile({ "#!/bin/sh", ("echo '%s'"):format(none) }, program)
  vim.fn.setfperm(program, "rwxr-xr-x")
  local function report(target)
    vim.lsp.config("winnow", { cmd = { program, "serve" }, settings = { winnow = { target = target } } })
    vim.cmd("checkhealth winnow")
    return text()
  end
  local missing = report("small")
  check("checkhealth names what is not installed", missing:find("no target is installed"), missing)
  local elsewhere = report("http://127.0.0.1:8000/v1#large")
  local complains = elsewhere:find("no target is installed")
  check("but no target on a server, which needs no file", elsewhere:find("no drafter") and not complains, elsewhere)
  complains = report("/models/own.gguf"):find("no target is installed")
  check("nor one that is a file of the user's own", not complains, complains)
  local system = vim.system
  vim.system = function()
    return { wait = function() return { code = 124, stdout = "", stderr = "" } end }
  end
  local silent = report("small")
  vim.system = system
  check("and says what took too long", silent:find("failed: it gave no answer in 60 s", 1, true), silent)
end

harness.run(function()
  vim.lsp.config("winnow", { cmd = server.start, settings = { winnow = { target = "some-model" } } })
  unattached()
  vim.lsp.enable("winnow")
  for _, part in ipairs({
    prompting,
    streaming,
    jumping,
    conversations,
    cancelling,
    failing,
    progress,
    thinking,
    status,
    explaining,
    spans,
    changing,
    dying,
    starting,
    home,
    disk,
    health,
  }) do
    part()
  end
end)
