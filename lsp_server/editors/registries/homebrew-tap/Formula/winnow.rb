# For a tap: pip takes the dependencies' wheels from PyPI and compiles llama.cpp, the only one that has none.
class Winnow < Formula
  include Language::Python::Virtualenv

  desc "Ask your repository anything, on your own machine"
  homepage "https://pypi.org/project/winnow-lsp/"
  url "https://files.pythonhosted.org/packages/$sdist_path/winnow_lsp-$version.tar.gz"
  sha256 "$sdist_sha256"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "python@3.13"

  def install
    # Not for this processor alone: some compilers' code for all that it has crashes.
    ENV.append "CMAKE_ARGS", "-DGGML_NATIVE=OFF"
    virtualenv_create(libexec, "python3.13", system_site_packages: false)
    system "python3.13", "-m", "pip", "--python=#{libexec}/bin/python", "install", buildpath
    bin.install_symlink libexec/"bin/winnow"
  end

  def caveats
    <<~EOS
      Winnow needs two models (1.6 GB):
        winnow models pull
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/winnow --version")
    ENV["WINNOW_CACHE_DIR"] = testpath/"cache"
    assert_match "qwen2.5-coder-0.5b", shell_output("#{bin}/winnow models list")
  end
end
