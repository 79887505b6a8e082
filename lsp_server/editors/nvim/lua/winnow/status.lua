--- The servers' latest `winnow/status`.
local M = {}

local latest = {} ---@type table<integer, table> by client id: `Status`

--- Handler of `winnow/status`; triggers the autocommand |User| WinnowStatus.
---@type lsp.Handler
function M.on_status(_, status, ctx)
  latest[ctx.client_id] = status
  M._announce(ctx.client_id)
end

--- Called when a server exits.
---@param client_id integer
function M.on_exit(_, _, client_id)
  latest[client_id] = nil
  vim.schedule(function()
    M._announce(client_id)
  end)
end

--- The last `Status` of a server, see docs/protocol.md.
---@param client vim.lsp.Client
---@return table?
function M.of(client)
  return latest[client.id]
end

--- One line for a status line; empty if no server can be asked.
---@param bufnr integer
---@return string
function M.line(bufnr)
  local client = require("winnow.place").client(bufnr)
  local status = client and latest[client.id]
  return client and (status and status.message or "starting") or ""
end

---@private
---@param client_id integer
function M._announce(client_id)
  vim.api.nvim_exec_autocmds("User", {
    pattern = "WinnowStatus",
    modeline = false,
    data = { client_id = client_id, status = latest[client_id] },
  })
end

return M
