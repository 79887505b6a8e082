--- Explanations: questions about a topic, which need no words.
local M = {}

local TITLES = {
  code = "Explain this code",
  usage = "How is this used?",
  impact = "What would break if this changed?",
  why = "Why is this so?",
  diagnostic = "Explain this problem",
}

--- The title of an explanation.
---@param asked winnow.Asked
---@return string
function M.title(asked)
  local parts = { TITLES[asked.about] }
  for _, problem in ipairs(asked.diagnostics or {}) do
    table.insert(parts, problem.message)
  end
  return table.concat(parts, "\n")
end

--- Completes the argument of :WinnowExplain.
---@param lead string
---@return string[]
function M.complete(lead)
  local abouts = vim.tbl_filter(function(about)
    return vim.startswith(about, lead)
  end, vim.tbl_keys(TITLES))
  table.sort(abouts)
  return abouts
end

--- Explain the code at a place, in a new conversation.
---@param about string one of `M.complete("")`; anything else is reported to the user
---@param place winnow.Place
function M.explain(about, place)
  if not TITLES[about] then
    local known = table.concat(M.complete(""), ", ")
    return vim.notify(("winnow: %q cannot be explained; choose one of %s"):format(about, known), vim.log.levels.ERROR)
  end
  if not place.params.textDocument then
    return vim.notify("winnow: this buffer is not a file of the workspace; ask with :WinnowAsk", vim.log.levels.ERROR)
  end
  local problems = about == "diagnostic" and M.problems(place) or {}
  if about == "diagnostic" and #problems == 0 then
    return vim.notify("winnow: there is no diagnostic in these lines", vim.log.levels.WARN)
  end
  require("winnow.conversation").start({ about = about, diagnostics = problems }, place)
end

--- Run `winnow.explain`, the command behind code actions and lenses.
---@param command lsp.Command
---@param ctx { client_id: integer, bufnr: integer }
function M.on_command(command, ctx)
  local asked = command.arguments[1]
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local params = { textDocument = asked.textDocument, range = asked.range }
  local place = { client = client, bufnr = ctx.bufnr, params = params, mods = {} }
  require("winnow.conversation").start({ about = asked.about, diagnostics = asked.diagnostics }, place)
end

--- The problems in the lines of a place, from every server and linter, with its name and code.
---@param place winnow.Place
---@return { message: string }[]
function M.problems(place)
  local problems = {}
  for _, problem in ipairs(vim.diagnostic.get(place.bufnr)) do
    if problem.lnum < place.lines[2] and place.lines[1] <= (problem.end_lnum or problem.lnum) + 1 then
      local origin = vim.trim(("%s %s"):format(problem.source or "", problem.code or ""))
      local message = origin == "" and problem.message or ("%s (%s)"):format(problem.message, origin)
      table.insert(problems, { message = message })
    end
  end
  return problems
end

return M
