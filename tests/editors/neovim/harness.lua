--- Checks that print `ok NAME` or `FAIL NAME -- DETAIL`, which test_neovim.py reads.
local M = {}

--- Where a script may wait for a small model on a busy machine.
M.patience_ms = 300000

---@param name string
---@param holds any
---@param detail? any shown where it does not hold
function M.check(name, holds, detail)
  io.stdout:write(
    holds and ("ok %s\n"):format(name) or ("FAIL %s -- %s\n"):format(name, (vim.inspect(detail):gsub("\n", " ")))
  )
end

--- Whether `condition` comes to hold.
---@param condition fun(): any
---@return boolean
function M.eventually(condition)
  return (vim.wait(M.patience_ms, function()
    return condition() and true or false
  end, 10))
end

--- Edit a file, and wait until the server is attached to it.
---@param file string|vim.api.keyset.cmd the arguments of `:edit`
function M.edit(file)
  vim.cmd.edit(file)
  M.eventually(function()
    return #vim.lsp.get_clients({ name = "winnow", bufnr = 0 }) > 0
  end)
end

---@param bufnr? integer
---@return string
function M.text(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr or 0, 0, -1, true), "\n")
end

--- What the plugin shows behind the last line.
---@param bufnr? integer
---@return string
function M.stage(bufnr)
  local namespace = vim.api.nvim_get_namespaces()["winnow.stage"]
  local marks = vim.api.nvim_buf_get_extmarks(bufnr or 0, namespace, 0, -1, { details = true })
  return marks[1] and marks[1][4].virt_text[1][1] or ""
end

--- Press keys as a user does, mappings included.
---@param keys string
function M.press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "mx", false)
end

--- Collect what the user is told.
---@return string[]
function M.record_messages()
  local messages = {}
  vim.notify = function(message)
    table.insert(messages, message)
  end
  return messages
end

--- Run a script to its end, whatever happens in it, and quit.
---@param script fun()
function M.run(script)
  local fine, problem = xpcall(script, debug.traceback)
  M.check("the script ran to its end", fine, problem)
  vim.cmd("qall!")
end

return M
