--- A server inside Neovim that answers only when a script tells it to.
local M = { asked = {}, cancelled = {}, start_ms = 0 }

local capabilities = { positionEncoding = "utf-8", textDocumentSync = 2 }
local count = 0
local connection

--- The `cmd` of the client.
function M.start(dispatchers)
  local opened = { dispatchers = dispatchers }
  connection = opened
  return {
    request = M._request,
    notify = M._notify,
    is_closing = function()
      return opened.closed
    end,
    terminate = function()
      opened.closed = true
      dispatchers.on_exit(0, 15)
    end,
  }
end

--- Stop without a word.
function M.die(code, signal)
  connection.closed = true
  connection.dispatchers.on_exit(code, signal)
end

--- The last request and its progress: `kept`, `delta`, `stage`, `answer`, `fail`.
function M.last()
  return M.asked[#M.asked]
end

function M.notification(method, params)
  connection.dispatchers.notification(method, params)
end

--- Ask the client something; what it answers.
function M.ask_client(method, params)
  return connection.dispatchers.server_request(method, params)
end

function M._request(method, params, callback, replied)
  count = count + 1
  local id = count
  local function reply(err, result)
    if replied then
      replied(id)
    end
    callback(err, result)
  end
  if method == "initialize" then
    M.initialized = params
    vim.defer_fn(function()
      reply(nil, { capabilities = capabilities })
    end, M.start_ms)
  elseif vim.startswith(method, "winnow/") or method == "workspace/executeCommand" then
    table.insert(M.asked, M._question(id, method, params, reply))
  end
  return true, id
end

function M._notify(method, params)
  if method == "$/cancelRequest" then
    table.insert(M.cancelled, params.id)
  end
  return true
end

function M._question(id, method, params, reply)
  local function progress(token, value)
    M.notification("$/progress", { token = token, value = value })
  end
  return {
    id = id,
    method = method,
    params = params,
    delta = function(sequence, text, thinking)
      progress(params.partialResultToken, { kind = "delta", sequence = sequence, text = text, thinking = thinking })
    end,
    kept = function(spans, provisional)
      M.notification("winnow/kept", { token = params.partialResultToken, spans = spans, provisional = provisional, seconds = 18 })
    end,
    stage = function(message)
      progress(params.workDoneToken, { kind = "report", message = message })
    end,
    answer = function(result)
      reply(nil, result)
    end,
    fail = function(err)
      reply(err)
    end,
  }
end

return M
