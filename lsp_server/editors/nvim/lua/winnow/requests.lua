--- Running requests and their listeners.
---
--- Neovim calls no handler for a request that was cancelled or whose server died. Therefore each request keeps its own
--- state here, and ends exactly once: answered, failed or cancelled.
local M = {}

---@class winnow.Outcome
---@field result? table the server's answer
---@field error? string the error's name, its message and a remedy
---@field cancelled? boolean

---@class winnow.Listener
---@field on_delta? fun(text: string) the next piece of the answer, in order
---@field on_kept? fun(spans: table[], provisional?: boolean) the code that the answer will rest on, best first; before any delta, perhaps several times
---@field on_stage fun(message: string) the current stage
---@field on_end fun(outcome: winnow.Outcome) called exactly once

---@class winnow.Request
---@field client vim.lsp.Client
---@field listener winnow.Listener
---@field id? integer
---@field work_token string
---@field delta_token string
---@field early table<integer, string> deltas that arrived early
---@field next integer the next sequence number
local Request = {}
Request.__index = Request

local WORK, DELTA = "winnow-work-", "winnow-delta-"

local running = {} ---@type table<string, winnow.Request> by either token
local count = 0

--- Send a request; `listener` gets its progress and its end.
---@param client vim.lsp.Client
---@param method "winnow/ask"|"winnow/spans"|"winnow/edit"|"workspace/executeCommand"
---@param params table
---@param bufnr integer whose latest edits are sent first
---@param listener winnow.Listener
---@return winnow.Request
function M.send(client, method, params, bufnr, listener)
  count = count + 1
  local request = setmetatable({ client = client, listener = listener, early = {}, next = 0 }, Request)
  request.work_token, request.delta_token = WORK .. count, DELTA .. count
  running[request.work_token], running[request.delta_token] = request, request
  params = vim.tbl_extend("error", params, { workDoneToken = request.work_token })
  if listener.on_delta then
    params.partialResultToken = request.delta_token
  end
  local sent, id = client:request(method, params, function(err, result)
    request:_finish(err and { error = err.message } or { result = result })
  end, bufnr)
  request.id = id
  if not sent then
    M.on_exit(0, 0, client.id)
  end
  return request
end

--- Cancel every running request.
function M.cancel_all()
  for token, request in pairs(running) do
    if token == request.work_token then
      request:cancel()
    end
  end
end

--- Cancel the request. The listener is called at once, because Neovim drops the server's reply.
function Request:cancel()
  if self:_finish({ cancelled = true }) then
    self.client:cancel_request(self.id)
  end
end

--- Handler of `$/progress`. Everything but deltas also goes to Neovim's handler.
---@type lsp.Handler
function M.on_progress(err, params, ctx)
  local token, value = params.token, params.value
  local request = running[token]
  if request and token == request.delta_token then
    request:_delta(value)
  elseif request and value.message then
    request.listener.on_stage(value.message)
  end
  if not vim.startswith(tostring(token), DELTA) then
    return vim.lsp.handlers["$/progress"](err, params, ctx)
  end
end

--- Handler of `winnow/kept`.
---@param params { token: string, spans: table[], provisional?: boolean, seconds?: number }
function M.on_kept(_, params)
  local request = running[params.token]
  if request and request.listener.on_kept then
    request.listener.on_kept(params.spans, params.provisional)
  end
end

--- Called when the server exits: its requests fail.
---@param code integer
---@param signal integer
---@param client_id integer
function M.on_exit(code, signal, client_id)
  local cause = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  local message = "the server stopped (%s); :edit in a file of the project starts it again. "
    .. "vim.lsp.log.get_filename() names the log that may say why."
  vim.schedule(function()
    for _, request in pairs(running) do
      if request.client.id == client_id then
        request:_finish({ error = message:format(cause) })
      end
    end
  end)
end

---@private
---@param value { sequence: integer, text: string }
function Request:_delta(value)
  self.early[value.sequence] = value.text
  while self.early[self.next] do
    if self.early[self.next] ~= "" then -- empty while a model thinks
      self.listener.on_delta(self.early[self.next])
    end
    self.early[self.next] = nil
    self.next = self.next + 1
  end
end

---@private
---@param outcome winnow.Outcome
---@return boolean first whether the request had not ended before
function Request:_finish(outcome)
  if not running[self.work_token] then
    return false
  end
  running[self.work_token], running[self.delta_token] = nil, nil
  self.listener.on_end(outcome)
  return true
end

return M
