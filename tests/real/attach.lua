-- Attaches the language server by the configuration that nvim-lspconfig would have, as a user of it does, and prints what
-- came of it as one object of JSON. The environment says where the configuration is, which file to edit and which model.
vim.opt.runtimepath:prepend(vim.env.WINNOW_LSPCONFIG)
vim.opt.swapfile = false
local model = vim.env.WINNOW_MODEL
vim.lsp.config("winnow", { settings = { winnow = { drafter = model, target = model } } })
vim.lsp.enable("winnow")
vim.cmd.edit(vim.env.WINNOW_FILE)

local found = {}
vim.lsp.handlers["winnow/status"] = function(_, status)
  found.models = { drafter = status.models.drafter.name, target = status.models.target.name }
end
local client ---@type vim.lsp.Client?
vim.wait(60000, function()
  client = vim.lsp.get_clients({ name = "winnow", bufnr = 0 })[1]
  return client ~= nil and client.initialized and found.models ~= nil
end)
if client then
  found.server, found.root = client.server_info, client.root_dir
  local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = {} }
  local reply = client:request_sync("textDocument/codeAction", params, 60000) or {}
  found.actions = vim.tbl_map(function(action)
    return action.title
  end, reply.result or {})
end
io.stdout:write(vim.json.encode(found))
vim.cmd("qall!")
