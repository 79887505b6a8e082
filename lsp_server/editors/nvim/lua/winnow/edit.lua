--- Changes to the code: the server proposes one, a tab page shows it as a diff, and `u` undoes it.
local M = {}

local CHANGES = { "fix", "document" }

--- Completes the argument of :WinnowEdit.
---@param lead string
---@return string[]
function M.complete(lead)
  return vim.tbl_filter(function(change)
    return vim.startswith(change, lead)
  end, CHANGES)
end

--- Propose a change to the code at a place, and show it; see |winnow-changes|.
---@param change string one of `M.complete("")`; anything else is reported to the user
---@param place winnow.Place
function M.propose(change, place)
  if not vim.list_contains(CHANGES, change) then
    local known = table.concat(CHANGES, ", ")
    return vim.notify(("winnow: %q is not a change; choose one of %s"):format(change, known), vim.log.levels.ERROR)
  end
  if not place.params.textDocument then
    return vim.notify("winnow: this buffer is not a file of the workspace", vim.log.levels.ERROR)
  end
  local argument = vim.tbl_extend("error", place.params, { change = change })
  if change == "fix" then
    argument.diagnostics = require("winnow.explain").problems(place)
    if #argument.diagnostics == 0 then
      return vim.notify("winnow: there is no diagnostic in these lines", vim.log.levels.WARN)
    end
  end
  M.run(argument, place.client)
end

--- Run `winnow.edit`, the command behind code actions.
---@param command lsp.Command
---@param ctx { client_id: integer, bufnr: integer }
function M.on_command(command, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  M.run(command.arguments[1], client)
end

--- Have a change proposed; `shown` is called once another proposal is in sight.
---@param wanted table `EditParams`
---@param client vim.lsp.Client
---@param shown? fun()
function M.run(wanted, client, shown)
  require("winnow.requests").send(client, "winnow/edit", wanted, vim.uri_to_bufnr(wanted.textDocument.uri), {
    on_stage = function() end, -- shown by Neovim's own handler of $/progress
    on_end = function(outcome)
      if outcome.error then
        vim.notify("winnow: " .. outcome.error, vim.log.levels.ERROR)
      elseif outcome.result then
        require("winnow.proposal").show(outcome.result, wanted, client);
        (shown or function() end)()
      end
    end,
  })
end

return M
