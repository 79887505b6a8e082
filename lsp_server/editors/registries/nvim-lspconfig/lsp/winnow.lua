---@brief
---
--- https://pypi.org/project/winnow-lsp/
---
--- Winnow answers questions about a repository with models on your own machine, and cites the lines it rests on. Code
--- actions and lenses explain code, its uses and diagnostics. It attaches to files of every type.
---
--- ```sh
--- uv tool install winnow-lsp   # or: pipx install winnow-lsp
--- winnow models pull
--- winnow doctor
--- ```
---
--- `settings` change the models and budgets:
---
--- ```lua
--- vim.lsp.config('winnow', {
---   settings = { winnow = { target = 'qwen2.5-coder-1.5b' } },
--- })
--- ```
---
--- Winnow's own plugin adds questions and streamed answers (`:WinnowAsk`).

--- A path with links resolved and, on Windows too, forward slashes.
---@param path string
---@return string
local function real(path)
  return vim.fs.normalize(vim.uv.fs_realpath(path) or path, { expand_env = false })
end

--- Whether a directory is all that the user has: the home, or a whole disk.
---@param directory string
---@return boolean
local function is_everything(directory)
  local found = real(directory)
  return found == real(vim.fs.normalize('~')) or found == vim.fs.dirname(found)
end

---@type vim.lsp.Config
return {
  cmd = { 'winnow', 'serve' },
  root_markers = { '.git', '.hg', '.jj', '.winnowignore', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod' },
  -- A home directory may be a repository, as with dotfiles, but is not taken for a project.
  root_dir = function(bufnr, on_dir)
    for _, marker in ipairs(vim.lsp.config.winnow.root_markers) do
      local root = vim.fs.root(bufnr, { marker })
      if root and not is_everything(root) then
        return on_dir(root)
      end
    end
  end,
  workspace_required = true,
  settings = { winnow = vim.empty_dict() },
  -- The server chooses its models when it starts, so it needs the settings with the first message.
  before_init = function(params, config)
    params.initializationOptions = config.settings
  end,
}
