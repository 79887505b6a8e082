;;; changes.el --- Changes of the code in a real Emacs with Eglot  -*- lexical-binding: t; -*-

;; emacs --batch -q -l changes.el; the environment variable WINNOW_E2E holds JSON as for e2e.el.
;; The target is one that knows the answers.  Prints "ok NAME" or "FAIL NAME DETAIL" for each check.

;;; Code:

(when (< emacs-major-version 29) (package-initialize))
(defconst changes-input
  (json-parse-string (getenv "WINNOW_E2E") :object-type 'plist :array-type 'list :false-object :json-false))
(load (plist-get changes-input :recipe))

(defconst changes-root (file-name-as-directory (plist-get changes-input :workspace)))
(defconst changes-command (plist-get changes-input :command))
(defconst changes-settings (plist-get changes-input :settings))
(defvar changes-outcome nil "The result of the command, or the error, once it is there.")

(defun changes-check (name ok &optional detail)
  (princ (format "%s %s%s\n" (if ok "ok" "FAIL") name (if ok "" (format " %S" detail)))))

(advice-add 'winnow--finish :after (lambda (_ result) (setq changes-outcome result)))
(advice-add 'winnow--fail :after (lambda (_ error) (setq changes-outcome error)))

(defun changes-press (label)
  "Press the button LABEL below the proposal."
  (with-current-buffer "*winnow*"
    (goto-char (point-max))
    (search-backward label)
    (push-button)))

(defun changes-shown ()
  (with-current-buffer "*winnow*" (buffer-string)))

(defmacro changes-of (&rest body)
  "Run BODY, which asks for a change, and return what comes of it."
  `(let ((end (+ (float-time) 300)))
     (setq changes-outcome nil)
     ,@body
     (while (and (not changes-outcome) (< (float-time) end)) (accept-process-output nil 0.02))
     changes-outcome))

(defun changes-go-to (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun changes-publish (server message)
  "Let SERVER's client see a diagnostic with MESSAGE at point, as a server would publish it."
  (flymake-start)
  (eglot-handle-notification
   server 'textDocument/publishDiagnostics :uri (winnow--uri buffer-file-name)
   :diagnostics (vector (list :range (list :start (winnow--position (point))
                                           :end (winnow--position (line-end-position)))
                              :severity 1 :message message))))

(defun changes-connect (&rest contact)
  (let ((eglot-server-programs `((python-mode . ,contact)))
        (eglot-sync-connect t))
    (call-interactively #'eglot)
    (eglot-current-server)))

(defun changes-undone-p (before)
  "Whether one undo makes the buffer's text BEFORE again."
  (undo-boundary)
  (let ((last-command nil)) (undo))
  (equal (buffer-string) before))

;;; Servers of a project and of another one within it, whichever started last

(cl-letf (((symbol-function 'jsonrpc-running-p) #'always)
          (default-directory "/outer/inner/lib/"))
  (changes-check "the-innermost-project-s-server-is-asked"
                 (cl-every (lambda (servers) (let ((winnow--servers servers)) (eq (winnow--find) 'inner)))
                           '((("/outer/" . outer) ("/outer/inner/" . inner))
                             (("/outer/inner/" . inner) ("/outer/" . outer))))))

;;; Winnow is Eglot's server for the buffer

(setq-default eglot-workspace-configuration `(:winnow ,changes-settings))
(with-current-buffer (find-file-noselect (concat changes-root "shop/pricing.py"))
  (buffer-enable-undo)
  (let ((server (apply #'changes-connect 'winnow-server changes-command))
        (before (buffer-string)))
    (changes-go-to "return price * 9")
    (changes-publish server "the discount is wrong")
    (changes-of
     (let ((completing-read-function (lambda (_ titles &rest _) (car (all-completions "Fix this problem" titles))))
           (last-nonmenu-event ?.))
       (eglot-code-actions (point) (1+ (point)) nil t)))
    (changes-check "code-action-proposes-a-diff"
                   (string-search "+    return price * 8 // 10" (changes-shown)) changes-outcome)
    (changes-check "nothing-is-changed-yet" (equal (buffer-string) before) (buffer-string))
    (undo-boundary)
    (changes-press "[Accept]")
    (changes-check "accepting-fixes" (string-search "price * 8 // 10" (buffer-string)) (buffer-string))
    (changes-check "the-buttons-give-way" (string-search "Accepted." (changes-shown)) (changes-shown))
    (changes-check "one-undo-takes-it-back" (changes-undone-p before) (buffer-string))
    (changes-go-to "return price * 9")
    (changes-publish server "the discount is wrong")
    (changes-of (winnow-fix-problem))
    (changes-of (changes-press "[Again]"))
    (changes-check "another-proposal-is-made" (string-search "[Accept]" (changes-shown)) changes-outcome)
    (changes-press "[Discard]")
    (changes-check "a-change-is-not-made-against-the-users-will"
                   (and (equal (buffer-string) before) (string-search "Discarded." (changes-shown)))
                   (changes-shown))
    (eglot-shutdown server)))

;;; Winnow beside Eglot's server for the buffer; any server will do for that one

(setq-default eglot-workspace-configuration nil)
(setq winnow-command (append changes-command (list :initializationOptions changes-settings)))
(with-current-buffer (find-file-noselect (concat changes-root "shop/undocumented.py"))
  (buffer-enable-undo)
  (let ((other (apply #'changes-connect changes-command)))
    (goto-char (point-max))
    (insert "\n\nUNSAVED = 1\n")
    (undo-boundary)
    (changes-go-to "return count")
    (let ((before (buffer-string)))
      (changes-of (winnow-document))
      (undo-boundary)
      (changes-press "[Accept]")
      (changes-check "beside-documents-an-unsaved-buffer"
                     (string-search "    \"\"\"Counts.\"\"\"\n    return count" (buffer-string))
                     (list changes-outcome (buffer-string)))
      (changes-check "beside-one-undo-takes-it-back" (changes-undone-p before) (buffer-string))
      (changes-go-to "return count")
      (changes-of (winnow-document))
      (save-excursion (goto-char (point-min)) (insert "# meanwhile\n"))
      (changes-check "beside-text-that-changed-meanwhile-is-left-alone"
                     (and (not (ignore-errors (changes-press "[Accept]") t))
                          (not (string-search "Counts." (buffer-string))))
                     (buffer-string)))
    (set-buffer-modified-p nil)
    (with-current-buffer (find-file-noselect (concat changes-root "shop/dos.py"))
      (changes-go-to "return count")
      (changes-of (winnow-document))
      (changes-press "[Accept]")
      (changes-check "line-ends-of-dos-stay-what-they-are"
                     (and (string-search "Counts." (buffer-string)) (not (string-search "\r" (buffer-string))))
                     (list changes-outcome (buffer-string)))
      (set-buffer-modified-p nil))
    (eglot-shutdown (winnow--find))
    (eglot-shutdown other)))

;;; A home directory that is a repository, as with dotfiles

(let* ((home (file-name-as-directory (file-truename (make-temp-file "home" t))))
       (notes (concat home "notes/"))
       (process-environment (cons (concat "HOME=" home) process-environment))
       (eglot-server-programs `((python-mode . (winnow-server ,@changes-command)))))
  (make-directory (concat home ".git"))
  (make-directory notes)
  (dolist (directory (list home notes))
    (write-region "pass\n" nil (concat directory "a.py") nil 'silent))
  (with-current-buffer (find-file-noselect (concat notes "a.py"))
    (let ((server (winnow--connect)))
      (changes-check "a-directory-of-the-home-is-asked-alone"
                     (equal (project-root (eglot--project server)) notes) (eglot--project server))
      (eglot-shutdown server)))
  (with-current-buffer (find-file-noselect (concat home "a.py"))
    (dolist (connect (list #'winnow--connect (lambda () (call-interactively #'eglot))))
      (changes-check "the-home-itself-is-not-read"
                     (string-search "visit a file" (condition-case error (format "%S" (funcall connect))
                                                     (user-error (error-message-string error))))
                     winnow--servers)))
  (delete-directory home t))

;;; Another disk, as on Windows, has a root directory of its own; here that of another machine

(changes-check "another-disk-is-not-read"
               (equal (mapcar #'winnow--everything-p '("/" "/ssh:nowhere:/" "/ssh:nowhere:/work/")) '(t t nil)))

;;; changes.el ends here
