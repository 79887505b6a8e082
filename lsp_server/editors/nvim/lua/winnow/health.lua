--- :checkhealth winnow
local health = vim.health

local M = {}

--- The server's command line up to `serve`, or nil if a function starts the server.
---@return string[]?
local function winnow()
  local config = vim.lsp.config.winnow
  local cmd = config and config.cmd
  if type(cmd) ~= "table" then
    return
  end
  local serve = vim.fn.index(cmd, "serve")
  return vim.list_slice(cmd, 1, serve == -1 and #cmd or serve)
end

---@param arguments string[]
---@return string? output nil after an error was reported
local function run(arguments)
  local command = vim.list_extend(winnow() or {}, arguments)
  local done = vim.system(command, { text = true, timeout = 60000 }):wait()
  if done.code == 0 then
    return done.stdout
  end
  local reason = done.code == 124 and "it gave no answer in 60 s" or vim.trim(done.stderr)
  health.error(("`%s` failed: %s"):format(table.concat(command, " "), reason))
end

local function check_neovim()
  if vim.fn.has("nvim-0.11") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.11 or newer is needed", "Upgrade Neovim")
  end
end

---@return boolean found
local function check_executable()
  local command = winnow()
  if not command then
    health.warn("the server's cmd is not a list, so its version and models were not checked")
  elseif vim.fn.executable(command[1]) == 0 then
    health.error(("`%s` is not executable"):format(command[1]), {
      "Install it, for example with `uv tool install winnow-lsp` or `pipx install winnow-lsp`",
      'Or name it: vim.lsp.config("winnow", { cmd = { "/path/to/winnow", "serve" } })',
    })
  else
    local version = run({ "--version" })
    health.info(("`%s`"):format(vim.fn.exepath(command[1])))
    if version then
      health.ok(vim.trim(version))
    end
    return version ~= nil
  end
  return false
end

--- Whether the settings name a model that Winnow did not download: one on a server, or the user's own file.
---@param role "drafter"|"target"
---@return boolean
local function is_elsewhere(role)
  local name = vim.tbl_get(vim.lsp.config.winnow, "settings", "winnow", role)
  return type(name) == "string" and (name:find("://", 1, true) ~= nil or vim.endswith(name:lower(), ".gguf"))
end

local function check_models()
  local output = run({ "models", "list", "--json" })
  local missing = { drafter = not is_elsewhere("drafter") or nil, target = not is_elsewhere("target") or nil }
  for _, model in ipairs(output and vim.json.decode(output) or {}) do
    health.info(("model %s: %s"):format(model.name, model.state))
    for _, role in ipairs(model.state == "ok" and model.roles or {}) do
      missing[role] = nil
    end
  end
  for role in pairs(missing) do
    health.error(("no %s is installed"):format(role), "Run `winnow models pull`")
  end
  if not next(missing) then
    health.ok("a drafter and a target are installed or named; `winnow doctor` also tries them")
  end
end

local function check_servers()
  if not vim.lsp.is_enabled("winnow") then
    health.warn("the server is not enabled", 'Put vim.lsp.enable("winnow") in your configuration')
  end
  local clients = vim.lsp.get_clients({ name = "winnow", _uninitialized = true })
  if #clients == 0 then
    health.info("no server is running; opening a file of a project starts one")
  end
  for _, client in ipairs(clients) do
    local status = require("winnow.status").of(client)
    local unknown = client.initialized and "no status yet" or ("not started yet; see " .. vim.lsp.log.get_filename())
    local state = status and status.message or unknown
    local report = status and status.state == "error" and health.error or health.ok
    report(("server of %s: %s"):format(client.root_dir, state))
  end
end

--- Check Neovim, the command, the models and the running servers.
function M.check()
  health.start("winnow")
  check_neovim()
  if check_executable() then
    check_models()
  end
  check_servers()
end

return M
