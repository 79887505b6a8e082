--- The functions behind the commands, for mappings and scripts. See |winnow-lua|.
local M = {}

--- Calls `go` with the question and its place, which is found before the user types.
---@param question? string
---@param prompt string
---@param where? winnow.Where
---@param go fun(question: string, place: winnow.Place)
local function with_question(question, prompt, where, go)
  local place = require("winnow.place").find(where or {})
  if not place then
    return
  end
  if vim.trim(question or "") ~= "" then
    return go(question --[[@as string]], place)
  end
  vim.ui.input({ prompt = prompt }, function(typed)
    if vim.trim(typed or "") ~= "" then
      go(typed --[[@as string]], place)
    end
  end)
end

--- Ask about the project. Continues the conversation of this window, or one shown in this tab page.
---@param question? string asked for when empty
---@param where? winnow.Where
function M.ask(question, where)
  with_question(question, "Ask Winnow: ", where, function(text, place)
    require("winnow.conversation").continue(text, place)
  end)
end

--- Start a new conversation.
---@param question? string asked for when empty
---@param where? winnow.Where
function M.new(question, where)
  with_question(question, "Ask Winnow anew: ", where, function(text, place)
    require("winnow.conversation").start({ question = text }, place)
  end)
end

--- Explain the code at the cursor or in the given lines.
---@param about? ""|"code"|"diagnostic"|"usage"|"impact"|"why" "code" when empty
---@param where? winnow.Where
function M.explain(about, where)
  local place = require("winnow.place").find(where or {})
  if place then
    require("winnow.explain").explain((about or "") == "" and "code" or about, place)
  end
end

--- Propose a change to the code at the cursor or in the given lines, and show it as a diff.
---@param change "fix"|"document"
---@param where? winnow.Where
function M.edit(change, where)
  local place = require("winnow.place").find(where or {})
  if place then
    require("winnow.edit").propose(change, place)
  end
end

--- List the code that would be kept for a question, with scores. The target is not asked.
---@param question? string asked for when empty
---@param where? winnow.Where
function M.spans(question, where)
  with_question(question, "Show the code kept for: ", where, function(text, place)
    require("winnow.spans").show(text, place)
  end)
end

--- Review changes; the findings become the quickfix list.
---@param changes? string "working" when empty
---@param where? winnow.Where
function M.review(changes, where)
  local place = require("winnow.place").find(where or {})
  if place then
    require("winnow.changes").review((changes or "") == "" and "working" or changes, place)
  end
end

--- In an answer's window, cancel its question. Elsewhere, cancel every question of this Neovim.
function M.cancel()
  local view = require("winnow.view").of(vim.api.nvim_get_current_buf())
  if view then
    view:cancel()
  else
    require("winnow.requests").cancel_all()
  end
end

--- One line for a status line, such as "ready"; empty if no server is attached.
---@param bufnr? integer the current buffer by default
---@return string
function M.status(bufnr)
  return require("winnow.status").line(bufnr or vim.api.nvim_get_current_buf())
end

return M
