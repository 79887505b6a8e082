-- Commands and <Plug> mappings. The rest of the plugin is loaded when one of them is used.
if vim.g.loaded_winnow then
  return
end
vim.g.loaded_winnow = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("winnow needs Neovim 0.11 or newer", vim.log.levels.ERROR)
  return
end

--- A command's range and modifiers, for the functions of require("winnow").
---@param call vim.api.keyset.create_user_command.command_args
---@return winnow.Where
local function where(call)
  local lines = call.range > 0 and { call.line1, call.line2 } or nil
  return { lines = lines, mods = call.smods }
end

local define = vim.api.nvim_create_user_command

define("WinnowAsk", function(call)
  require("winnow").ask(call.args, where(call))
end, {
  nargs = "?",
  range = true,
  complete = function(lead)
    return require("winnow.changes").complete(lead)
  end,
  desc = "Ask about this project, or after @changes about changes",
})

define("WinnowReview", function(call)
  require("winnow").review(call.args, where(call))
end, {
  nargs = "?",
  complete = function(lead)
    return require("winnow.changes").complete("@" .. lead, true)
  end,
  desc = "Review changes: working, staged, branch, commit, a revision or a range",
})

define("WinnowExplain", function(call)
  require("winnow").explain(call.args, where(call))
end, {
  nargs = "?",
  range = true,
  complete = function(lead)
    return require("winnow.explain").complete(lead)
  end,
  desc = "Explain the code or the problem at the cursor or in the range",
})

define("WinnowEdit", function(call)
  require("winnow").edit(call.args, where(call))
end, {
  nargs = 1,
  range = true,
  complete = function(lead)
    return require("winnow.edit").complete(lead)
  end,
  desc = "Fix the problem at the cursor, or document the code there",
})

define("WinnowSpans", function(call)
  require("winnow").spans(call.args, where(call))
end, { nargs = "?", range = true, desc = "List the code that would be kept for a question" })

define("WinnowNew", function(call)
  require("winnow").new(call.args, where(call))
end, { nargs = "?", range = true, desc = "Start a new conversation" })

define("WinnowCancel", function()
  require("winnow").cancel()
end, { desc = "Cancel the question of this answer, or elsewhere all questions" })

local function plug(modes, name, keys)
  vim.keymap.set(modes, "<Plug>(winnow-" .. name .. ")", keys, { silent = true })
end

plug({ "n", "x" }, "ask", ":WinnowAsk<CR>")
plug({ "n", "x" }, "explain", ":WinnowExplain<CR>")
plug({ "n", "x" }, "spans", ":WinnowSpans<CR>")
plug({ "n", "x" }, "new", ":WinnowNew<CR>")
plug("n", "cancel", ":WinnowCancel<CR>")
