;;; winnow-eglot.el --- Ask your repository, with Eglot  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))

;;; Commentary:

;; Answers of the Winnow language server, streamed into the buffer *winnow*; see emacs.md for the set-up.
;;
;; Eglot connects a buffer to one server.  If `eglot-server-programs' names Winnow, Eglot sends it the buffers.
;; Otherwise the commands below start a second connection, under a major mode that no buffer has: the buffers stay with
;; their own server, and `winnow--sync' sends Winnow the unsaved ones before each question.

;;; Code:

(require 'eglot)
(require 'pulse)
(require 'subr-x)

(defgroup winnow nil "Ask your repository." :group 'tools)

(defcustom winnow-command '("winnow" "serve")
  "Program and arguments that start the server; `:initializationOptions' and a property list may follow."
  :type '(repeat sexp)
  :risky t)

(defclass winnow-server (eglot-lsp-server)
  ((status :initform nil :accessor winnow--status :documentation "Parameters of the last `winnow/status'.")
   (texts :initform (make-hash-table :test #'equal) :accessor winnow--texts
          :documentation "URI to `buffer-chars-modified-tick' of the unsaved buffers that `winnow--sync' sent."))
  :documentation "A connection to `winnow serve'.")

(defvar winnow--servers nil "Alist from project root to its `winnow-server', connected ones only.")
(defconst winnow--most-kept 8 "Number of kept spans listed before the answer.")
(defvar winnow--count 0 "Number of requests so far; their tokens contain it.")
(defvar-local winnow--conversation nil "The conversation that the buffer shows.")
(defvar-local winnow--turns nil "Questions and answers of that conversation, in order, as `:earlier' wants them.")
(defvar-local winnow--turn nil "The turn that is being answered, with its answer so far.")
(defvar-local winnow--kept nil "Start of the list of kept code as long as it may be listed anew, or nil.")
(defvar-local winnow--token nil "Work-done token of the request that writes into the buffer, or nil.")

;;; The connection

(cl-defmethod eglot-client-capabilities ((_server winnow-server))
  "Eglot's own, with positions in UTF-16 only, because `winnow--position' supports no other encoding."
  (let ((capabilities (cl-call-next-method)))
    (setq capabilities (plist-put capabilities :general '(:positionEncodings ["utf-16"])))
    (plist-put capabilities :window '(:workDoneProgress t :showDocument (:support t)))))

(defun winnow--register (server)
  "Remember SERVER by its project's root, for `eglot-connect-hook'."
  (when (cl-typep server 'winnow-server)
    (setq winnow--servers (cl-remove-if-not #'jsonrpc-running-p winnow--servers :key #'cdr))
    (push (cons (expand-file-name (project-root (eglot--project server))) server) winnow--servers)))

(add-hook 'eglot-connect-hook #'winnow--register)

(defun winnow--find ()
  "The connected server of the innermost project that contains `default-directory', or nil."
  (cl-loop with longest = "" and found
           for (root . server) in winnow--servers
           when (and (jsonrpc-running-p server)
                     (string-prefix-p root (expand-file-name default-directory))
                     (length> root (length longest)))
           do (setq longest root found server)
           finally return found))

(defun winnow--everything-p (directory)
  "Whether DIRECTORY is all that the user has: the home, which may be a repository, or the whole disk."
  (or (seq-some (lambda (all) (file-equal-p directory all)) '("~/" "/"))
      (equal (expand-file-name directory) (expand-file-name ".." directory)))) ; another disk

(cl-defmethod initialize-instance :before ((_server winnow-server) &rest _)
  "Refuse to read all that the user has."
  (when (winnow--everything-p default-directory)
    (user-error "Winnow does not read all of %s: visit a file of a project, or in another directory" default-directory)))

(defun winnow--project ()
  "The current project, or the directory of the buffer where there is none, or it is all that the user has."
  (let ((project (project-current)))
    (if (and project (not (winnow--everything-p (project-root project)))) project
      (cons 'transient (expand-file-name default-directory)))))

(defun winnow--connect ()
  "Start a server for the current project beside the one that Eglot uses for its buffers."
  (let ((project (winnow--project))
        (eglot-sync-connect t))
    (with-temp-buffer ; has no server that `eglot' would shut down first
      (eglot '(winnow--beside) project 'winnow-server winnow-command '("plaintext")))))

(cl-defmethod eglot-handle-request :around
  ((_server winnow-server) (_method (eql workspace/configuration)) &rest _)
  "Leave out what .dir-locals.el sets: a repository could say where code is sent."
  (let ((enable-dir-local-variables nil))
    (cl-call-next-method)))

;;; Text and positions

(defalias 'winnow--uri (if (fboundp 'eglot-path-to-uri) 'eglot-path-to-uri 'eglot--path-to-uri))

(defun winnow--path (uri)
  "The file name of URI.  In that of Eglot, bytes of letters beyond ASCII are not decoded."
  (let ((path (funcall (if (fboundp 'eglot-uri-to-path) 'eglot-uri-to-path 'eglot--uri-to-path) uri)))
    (decode-coding-string (encode-coding-string path 'utf-8) 'utf-8)))

(defun winnow--position (point)
  "POINT as an LSP position in UTF-16 code units."
  (save-excursion
    (goto-char point)
    (let ((before (encode-coding-region (line-beginning-position) point 'utf-16le t)))
      (list :line (1- (line-number-at-pos nil t)) :character (/ (length before) 2)))))

(defun winnow--scope (&optional beg end)
  "Parameters for the code from BEG to END, else for the region or point; nil in a buffer without a file."
  (when buffer-file-name
    (when (and (not beg) (use-region-p))
      (setq beg (region-beginning) end (region-end)))
    (append (list :textDocument (list :uri (winnow--uri buffer-file-name)))
            (if beg
                (list :range (list :start (winnow--position beg) :end (winnow--position end)))
              (list :position (winnow--position (point)))))))

(defun winnow--sync (server)
  "Send SERVER the unsaved buffers of the project; saved, reverted and killed ones count as on disk."
  (let ((sent (winnow--texts server)) unsaved)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (cond ((not (and buffer-file-name (eq server (winnow--find)))))
              ((and (eglot-managed-p) (eq server (eglot-current-server))) (eglot--signal-textDocument/didChange))
              ((buffer-modified-p) (push (winnow--send-text server) unsaved)))))
    (dolist (uri (hash-table-keys sent))
      (unless (member uri unsaved)
        (jsonrpc-notify server :textDocument/didClose `(:textDocument (:uri ,uri)))
        (remhash uri sent)))))

(defun winnow--send-text (server)
  "Open the current buffer at SERVER, or bring it up to date there; return its URI."
  (let* ((uri (winnow--uri buffer-file-name))
         (tick (buffer-chars-modified-tick))
         (before (gethash uri (winnow--texts server)))
         (text (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))))
    (cond ((null before)
           (jsonrpc-notify server :textDocument/didOpen
                           `(:textDocument (:uri ,uri :version ,tick :languageId "plaintext" :text ,text))))
          ((/= tick before)
           (jsonrpc-notify server :textDocument/didChange
                           `(:textDocument (:uri ,uri :version ,tick) :contentChanges [(:text ,text)]))))
    (puthash uri tick (winnow--texts server))
    uri))

;;; The buffer *winnow*

(define-minor-mode winnow-answer-mode
  "Keys for the buffer *winnow*.
\\{winnow-answer-mode-map}"
  :keymap `((,(kbd "f") . winnow-follow-up) (,(kbd "c") . winnow-cancel) (,(kbd "C-c C-c") . winnow-cancel)
            (,(kbd "TAB") . forward-button) (,(kbd "<backtab>") . backward-button) (,(kbd "q") . quit-window))
  (add-hook 'kill-buffer-hook #'winnow-cancel nil t))

(defun winnow--buffer ()
  "The buffer *winnow*, shown as Markdown where markdown-mode is installed."
  (with-current-buffer (get-buffer-create "*winnow*")
    (unless winnow-answer-mode
      (if (fboundp 'gfm-view-mode) (gfm-view-mode) (special-mode))
      (visual-line-mode)
      (winnow-answer-mode))
    (current-buffer)))

(defmacro winnow--writing (token &rest body)
  "Run BODY at the end of *winnow* if the request of TOKEN writes there; point stays where it is."
  (declare (indent 1))
  `(when-let ((buffer (get-buffer "*winnow*")))
     (with-current-buffer buffer
       (when (equal ,token winnow--token)
         (let ((inhibit-read-only t))
           (save-excursion (goto-char (point-max)) ,@body))))))

(defun winnow--begin (server token heading conversation)
  "Show *winnow* with HEADING for the request of TOKEN to SERVER; a CONVERSATION continues below its last turn."
  (with-current-buffer (winnow--buffer)
    (let ((inhibit-read-only t) start window)
      (unless conversation
        (erase-buffer)
        (delete-all-overlays)
        (setq winnow--turns nil))
      (setq default-directory (car (rassq server winnow--servers))
            winnow--conversation conversation
            winnow--turn (list :question heading :answer "")
            winnow--token token
            winnow--kept nil
            start (goto-char (point-max))
            window (display-buffer (current-buffer)))
      (insert (if (bobp) "" "\n") "## " heading "\n\n")
      (set-window-start window start)
      (set-window-point window start))))

(defun winnow--insert-citation (location)
  "Insert a button that visits LOCATION."
  (let ((path (winnow--path (plist-get location :uri)))
        (first (1+ (plist-get (plist-get (plist-get location :range) :start) :line))))
    (insert "\n- ")
    (insert-button (format "%s:%d" (file-relative-name path) first)
                   'winnow-location location 'action #'winnow--visit)))

(defun winnow--note-sentences (answer sentences)
  "Put numbers behind SENTENCES of ANSWER, which ends at point; return the places by these numbers."
  (let ((start (- (point) (length answer))) places)
    (when (and (>= start (point-min)) (equal (buffer-substring-no-properties start (point)) answer))
      (seq-doseq (sentence sentences)
        (let ((notes (mapcar (lambda (place)
                               (unless (member place places) (setq places (append places (list place))))
                               (format "[%d]" (1+ (seq-position places place))))
                             (plist-get sentence :places))))
          (when (and (null notes) (plist-get sentence :support)) (setq notes (list "[not found in the code shown]")))
          (seq-doseq (name (plist-get sentence :unknown))
            (setq notes (append notes (list (format "[%s is no name in this workspace]"
                                                    (substring answer (plist-get name :start) (plist-get name :end)))))))
          (let ((end (+ start (plist-get sentence :end))))
            (overlay-put (make-overlay end end) 'after-string (propertize (string-join notes) 'face 'shadow))))))
    places))

(defun winnow--insert-before (cited)
  "Name the lines of CITED, which exist only in a commit."
  (let ((location (plist-get cited :location)))
    (insert (format "\n- %s:%s:%d" (substring (plist-get cited :commit) 0 10)
                    (file-relative-name (winnow--path (plist-get location :uri)))
                    (1+ (plist-get (plist-get (plist-get location :range) :start) :line))))))

(defun winnow--insert-thought (thinking)
  "Insert a button that shows THINKING, the model's thoughts before its answer."
  (insert "\n")
  (insert-button (format "Thought for %.0f s (%d tokens)" (plist-get thinking :seconds) (plist-get thinking :tokens))
                 'action (lambda (_) (with-output-to-temp-buffer "*winnow thought*"
                                       (princ (plist-get thinking :text)))))
  (insert "\n"))

(defun winnow--insert-kept (spans provisional)
  "List SPANS, the code that the answer will rest on, above the answer.  PROVISIONAL ones may yet be others."
  (winnow--delete-kept)
  (setq winnow--kept (point))
  (insert (if provisional "Found so far:\n" "Kept:\n"))
  (seq-doseq (span (seq-take spans winnow--most-kept))
    (winnow--insert-citation (plist-get span :location))
    (insert (string-trim-right (format "  %s %s" (plist-get span :kind) (plist-get span :name)))))
  (when (> (length spans) winnow--most-kept)
    (insert (format "\n- and %d more" (- (length spans) winnow--most-kept))))
  (insert "\n\n"))

(defun winnow--delete-kept ()
  "Remove the list of kept code."
  (when winnow--kept
    (remove-overlays winnow--kept (point-max))
    (delete-region winnow--kept (point-max))
    (setq winnow--kept nil)))

(defun winnow--visit (button)
  "Visit the location of BUTTON."
  (let* ((location (button-get button 'winnow-location))
         (range (plist-get location :range))
         (first (plist-get (plist-get range :start) :line))
         (last (plist-get (plist-get range :end) :line)))
    (pop-to-buffer (find-file-noselect (winnow--path (plist-get location :uri))))
    (widen)
    (goto-char (point-min))
    (forward-line first)
    (pulse-momentary-highlight-region (point) (line-end-position (1+ (- last first))))))

(defun winnow--end (error)
  "End the request, with ERROR or without."
  (setq winnow--token nil winnow--kept nil header-line-format nil)
  (insert (if error (concat "\n\n" (plist-get error :message)) "") "\n"))

(defun winnow--finish (token result)
  "Add the rest of RESULT below the answer of TOKEN."
  (winnow--writing token
    (setq winnow--conversation (plist-get result :conversation)
          winnow--turns (and (plist-get result :answer)
                             (append winnow--turns (list (list :question (plist-get result :question)
                                                               :answer (plist-get result :answer))))))
    (let ((places (winnow--note-sentences (or (plist-get result :answer) "") (plist-get result :sentences))) (number 0))
      (insert "\n")
      (when-let ((thinking (plist-get result :thinking))) (winnow--insert-thought thinking))
      (dolist (place places)
        (winnow--insert-citation place)
        (insert (format " [%d]" (cl-incf number))))
      (mapc #'winnow--insert-citation (seq-remove (lambda (one) (member one places)) (plist-get result :citations))))
    (mapc #'winnow--insert-before (plist-get result :citedBefore))
    (when (equal (plist-get result :finish) "length")
      (insert "\n\nThe answer was cut off at winnow.maxTokens."))
    (mapc (lambda (notice) (insert "\n\n" notice)) (plist-get result :notices))
    (winnow--end nil)))

(defun winnow--fail (token error)
  "Add ERROR, an LSP ResponseError, below the answer of TOKEN.  A follow-up of one that was cancelled knows it so far."
  (winnow--writing token
    (when (and (eql (plist-get error :code) -32800) (not (string-empty-p (plist-get winnow--turn :answer))))
      (setq winnow--conversation (or winnow--conversation token)
            winnow--turns (append winnow--turns (list winnow--turn))))
    (winnow--end error)))

;;; Requests and notifications

(defun winnow--request (server method params heading &optional conversation insert)
  "Send METHOD with PARAMS to SERVER; its answer goes to *winnow* under HEADING, as part of CONVERSATION.
INSERT puts a result there that is no answer.  A running question is cancelled, because there is one buffer for answers."
  (let* ((token (format "winnow-%d" (cl-incf winnow--count)))
         (stream (when (eq method :winnow/ask) (list :partialResultToken (concat token "/answer")))))
    (winnow-cancel)
    (winnow--sync server)
    (winnow--begin server token heading conversation)
    (jsonrpc-async-request
     server method (append params stream (list :workDoneToken token))
     :timeout nil
     :success-fn (lambda (result)
                   (unless stream
                     (winnow--writing token (funcall (or insert (lambda (it) (insert (plist-get it :answer)))) result)))
                   (winnow--finish token result))
     :error-fn (lambda (error) (winnow--fail token error)))))

(cl-defmethod eglot-handle-notification ((_server winnow-server) (_method (eql '$/progress)) &key token value)
  "Insert the delta in VALUE, or show the stage of the request of TOKEN."
  (let ((kind (plist-get value :kind)))
    (when (member kind '("begin" "report"))
      (winnow--writing token (setq header-line-format (plist-get value :message))))
    (if (equal kind "delta")
        (unless (string-empty-p (plist-get value :text)) ; empty while a model thinks
          (winnow--writing (string-remove-suffix "/answer" token)
            (setq winnow--kept nil)
            (plist-put winnow--turn :answer (concat (plist-get winnow--turn :answer) (plist-get value :text)))
            (insert (plist-get value :text))))
      (cl-call-next-method))))

(cl-defmethod eglot-handle-notification ((_server winnow-server) (_method (eql 'winnow/kept)) &key token spans
                                         provisional &allow-other-keys)
  "Show SPANS, the code that the answer to the request of TOKEN will rest on."
  (winnow--writing (string-remove-suffix "/answer" token) (winnow--insert-kept spans (eq provisional t))))

(cl-defmethod eglot-handle-notification ((server winnow-server) (_method (eql 'winnow/status)) &rest status)
  "Keep STATUS of SERVER for the mode line."
  (setf (winnow--status server) status)
  (force-mode-line-update t))

(cl-defmethod eglot-handle-request ((_server winnow-server) (_method (eql 'window/showDocument)) &rest _)
  "Report the answer of a command as shown: *winnow* shows it with the reply to the command."
  '(:success t))

(cl-defmethod eglot-execute-command ((server winnow-server) command arguments)
  "Execute COMMAND of a code action with ARGUMENTS at SERVER, without waiting for it (Eglot up to 1.16)."
  (let ((asked (elt arguments 0)))
    (winnow--execute server (format "%s" command) arguments
                     (format "Explain (%s)" (or (plist-get asked :about) "code")))))

(cl-defmethod eglot-execute ((server winnow-server) action)
  "Execute ACTION at SERVER, without waiting for it if it is a command (Eglot 1.17 or later)."
  (let ((command (plist-get action :command)))
    (if (stringp command)
        (winnow--execute server command (plist-get action :arguments) (or (plist-get action :title) command))
      (cl-call-next-method))))

(defun winnow--execute (server command arguments title)
  "Execute COMMAND with ARGUMENTS at SERVER, under TITLE; a change is proposed and shown."
  (if (equal command "winnow.edit")
      (winnow--propose server (elt arguments 0) (format "Change (%s)" (plist-get (elt arguments 0) :change)))
    (winnow--request server :workspace/executeCommand (list :command command :arguments arguments) title)))

;;; Changes

(defun winnow--propose (server wanted title)
  "Have SERVER propose the change WANTED, and show it as a diff in *winnow*, under TITLE."
  (let* ((buffer (find-file-noselect (winnow--path (plist-get (plist-get wanted :textDocument) :uri))))
         (tick (buffer-chars-modified-tick buffer)))
    (winnow--request server :winnow/edit wanted title nil
                     (lambda (result) (winnow--insert-change server wanted title buffer tick result)))))

(defun winnow--insert-change (server wanted title buffer tick result)
  "Insert the diff of RESULT, and buttons to decide.
BUFFER had TICK when SERVER was asked for WANTED under TITLE."
  (insert (format "```diff\n%s\n```\n\n" (plist-get result :diff)))
  (let ((why (plist-get result :rejected)))
    (if why (insert "Rejected: " why ". ")
      (insert-text-button "[Accept]" 'action (lambda (button) (winnow--accept button buffer tick result)))
      (insert " "))
    (insert-text-button "[Discard]" 'action (lambda (button) (winnow--decided button "Discarded.")))
    (insert " ")
    (insert-text-button "[Again]" 'action (lambda (_) (winnow--propose server (winnow--again wanted) title)))))

(defun winnow--again (wanted)
  "Parameters for another attempt at WANTED, whose text may have changed since it was offered."
  (let ((again (copy-sequence wanted)))
    (setq again (plist-put again :digest nil))
    (plist-put again :attempt (1+ (or (plist-get wanted :attempt) 0)))))

(defun winnow--accept (button buffer tick result)
  "Make the change of RESULT in BUFFER if that still has TICK, and say so in place of BUTTON."
  (unless (and (buffer-live-p buffer) (= tick (buffer-chars-modified-tick buffer)))
    (user-error "The text has changed since; nothing was changed"))
  (with-current-buffer buffer
    (eglot--apply-text-edits (winnow--edits (plist-get result :edit))))
  (winnow--decided button "Accepted.")
  (pop-to-buffer buffer))

(defun winnow--edits (edit)
  "The text edits of EDIT, a WorkspaceEdit of the current buffer's file, with line ends as the buffer has them."
  (let* ((changes (plist-get edit :documentChanges))
         (edits (if changes (plist-get (elt changes 0) :edits) (cadr (plist-get edit :changes)))))
    (if (eq (coding-system-eol-type buffer-file-coding-system) 1) ; \r\n in the file is \n in the buffer
        (cl-map 'vector (lambda (one)
                          (let ((text (string-replace "\r\n" "\n" (plist-get one :newText))))
                            (plist-put (copy-sequence one) :newText text)))
                edits)
      edits)))

(defun winnow--decided (button words)
  "Write WORDS in place of the line of BUTTON."
  (let ((inhibit-read-only t))
    (with-current-buffer (get-buffer "*winnow*")
      (save-excursion
        (goto-char (button-start button))
        (delete-region (line-beginning-position) (line-end-position))
        (insert words)))))

(defun winnow--mode-line ()
  "The status of the current project's server, from its last `winnow/status'."
  (when-let ((server (winnow--find)) (status (winnow--status server)))
    (format " [winnow: %s]" (string-replace "%" "%%" (plist-get status :message)))))

(add-to-list 'mode-line-misc-info '(:eval (winnow--mode-line)) t)

;;; Commands

(defun winnow--ask (title asked scope &optional conversation)
  "Send the question ASKED with the parameters SCOPE, as the next turn of CONVERSATION or in a new one, under TITLE.
Earlier turns are sent too, because a restarted server does not know them."
  (when (string-blank-p (or (plist-get asked :question) title)) (user-error "No question"))
  (let ((earlier (and conversation (vconcat (buffer-local-value 'winnow--turns (winnow--buffer))))))
    (winnow--request (or (winnow--find) (winnow--connect)) :winnow/ask
                     (append asked (and conversation (list :conversation conversation :earlier earlier)) scope)
                     title conversation)))

(defun winnow-ask (question)
  "Ask QUESTION about the project; \"this\" is the region, or the symbol at point."
  (interactive "sAsk Winnow: ")
  (winnow--ask question (list :question question) (winnow--scope)))

(defun winnow--read-changes ()
  "Ask the user for the changes."
  (completing-read "Changes (working): " '("working" "staged" "branch" "commit") nil nil nil nil "working"))

(defun winnow-ask-changes (changes question)
  "Ask QUESTION about CHANGES: working, staged, branch, commit, a revision or a range.
Without a question, ask what they do and what they could break."
  (interactive (list (winnow--read-changes) (read-string "Ask Winnow: ")))
  (winnow--ask (format "%s (%s)" (if (string-blank-p question) "What does this change?" question) changes)
               (append (list :changes changes) (unless (string-blank-p question) (list :question question)))
               (winnow--scope)))

(defun winnow-review (changes)
  "Review CHANGES: working, staged, branch, commit, a revision or a range."
  (interactive (list (winnow--read-changes)))
  (winnow--request (or (winnow--find) (winnow--connect)) :workspace/executeCommand
                   (list :command "winnow.review" :arguments (vector (list :changes changes)))
                   (format "Review (%s)" changes)))

(defun winnow-follow-up (question)
  "Ask QUESTION as the next turn of the conversation in *winnow*."
  (interactive "sFollow up: ")
  (winnow--ask question (list :question question) (winnow--scope)
               (buffer-local-value 'winnow--conversation (winnow--buffer))))

(defun winnow-explain-region (beg end)
  "Explain the code from BEG to END: the region, or the definition around point."
  (interactive (if (use-region-p)
                   (list (region-beginning) (region-end))
                 (let ((bounds (or (bounds-of-thing-at-point 'defun) (user-error "No definition here"))))
                   (list (car bounds) (cdr bounds)))))
  (winnow--ask "Explain this code" '(:about "code") (winnow--scope beg end)))

(defun winnow-explain-problem ()
  "Explain the Flymake diagnostic at point, from any server or checker."
  (interactive)
  (let ((problem (or (car (flymake-diagnostics (point))) (user-error "No problem here"))))
    (winnow--ask (format "Explain this problem: %s" (flymake-diagnostic-text problem))
                 (list :about "diagnostic" :diagnostics (vector (list :message (flymake-diagnostic-text problem))))
                 (winnow--scope (flymake-diagnostic-beg problem) (flymake-diagnostic-end problem)))))

(defun winnow--change (change title scope &optional problem)
  "Propose CHANGE (\"fix\" or \"document\") to the code in SCOPE under TITLE; a fix is for PROBLEM."
  (let ((diagnostics (and problem (list :diagnostics (vector (list :message problem))))))
    (winnow--propose (or (winnow--find) (winnow--connect)) (append (list :change change) diagnostics scope) title)))

(defun winnow-fix-problem ()
  "Propose a fix for the Flymake diagnostic at point, from any server or checker."
  (interactive)
  (let* ((problem (or (car (flymake-diagnostics (point))) (user-error "No problem here")))
         (text (flymake-diagnostic-text problem)))
    (winnow--change "fix" (format "Fix this problem: %s" text)
                    (winnow--scope (flymake-diagnostic-beg problem) (flymake-diagnostic-end problem)) text)))

(defun winnow-document ()
  "Propose documentation for the definition at point."
  (interactive)
  (winnow--change "document" "Document this" (winnow--scope)))

(defun winnow-cancel ()
  "Stop the current answer."
  (interactive)
  (when-let ((buffer (get-buffer "*winnow*")))
    (with-current-buffer buffer
      (when-let ((server (and winnow--token (winnow--find))))
        (jsonrpc-notify server :window/workDoneProgress/cancel (list :token winnow--token))))))

(provide 'winnow-eglot)
;;; winnow-eglot.el ends here
