--- Explanations: questions that need no typing.
local M = {}

local QUESTIONS = {
  code = "Explain this code: what it does, and what it is for here.",
  usage = "How is this used? Name the callers and what they rely on.",
  impact = "What would break if this changed? Name the code that depends on it.",
  diagnostic = "Explain this problem, and how to fix it:",
}

--- The words that :WinnowExplain takes.
---@param lead string
---@return string[]
function M.complete(lead)
  local abouts = vim.tbl_filter(function(about)
    return vim.startswith(about, lead)
  end, vim.tbl_keys(QUESTIONS))
  table.sort(abouts)
  return abouts
end

--- Explain what is at a place, in a new conversation.
---@param about string one of `M.complete("")`; the user is told where it is not
---@param place winnow.Place
function M.explain(about, place)
  if not QUESTIONS[about] then
    local known = table.concat(M.complete(""), ", ")
    return vim.notify(("winnow: %q can not be explained; what can: %s"):format(about, known), vim.log.levels.ERROR)
  end
  if not place.params.textDocument then
    return vim.notify("winnow: this buffer is no file of the workspace; ask with :WinnowAsk", vim.log.levels.ERROR)
  end
  local problems = about == "diagnostic" and M._problems(place) or {}
  if about == "diagnostic" and #problems == 0 then
    return vim.notify("winnow: there is no diagnostic in these lines", vim.log.levels.WARN)
  end
  require("winnow.conversation").start(M._question(about, problems), place)
end

--- Run `winnow.explain`, the command behind code actions and lenses.
---@param command lsp.Command
---@param ctx { client_id: integer, bufnr: integer }
function M.on_command(command, ctx)
  local asked = command.arguments[1]
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local params = { textDocument = asked.textDocument, range = asked.range }
  local place = { client = client, bufnr = ctx.bufnr, params = params, mods = {} }
  require("winnow.conversation").start(M._question(asked.about or "code", asked.diagnostics or {}), place)
end

--- The problems in the lines of a place, whichever server or linter found them.
---@private
---@param place winnow.Place
---@return vim.Diagnostic[]
function M._problems(place)
  return vim.tbl_filter(function(problem)
    return problem.lnum < place.lines[2] and place.lines[1] <= (problem.end_lnum or problem.lnum) + 1
  end, vim.diagnostic.get(place.bufnr))
end

---@private
---@param about string
---@param problems { message: string, source?: string, code?: string|integer }[]
---@return string
function M._question(about, problems)
  local parts = { QUESTIONS[about] }
  for _, problem in ipairs(problems) do
    local origin = vim.trim(("%s %s"):format(problem.source or "", problem.code or ""))
    table.insert(parts, origin == "" and problem.message or ("%s (%s)"):format(problem.message, origin))
  end
  return table.concat(parts, "\n")
end

return M
