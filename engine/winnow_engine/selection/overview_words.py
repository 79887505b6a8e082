"""Words of questions about a project as a whole, in seven languages: what it does, how it starts, is built, is made up.

Letters have no accents and are in lower case. A star stands for up to six letters more. Chinese characters and katakana
stand anywhere; hiragana need not be known.
"""

from __future__ import annotations

import re

from winnow_engine.index.words import normalized, without_accents

_PHRASES = re.compile(  # each means its group's name; "What is the problem with this code?" asks for no overview
    r"(?P<purpose>problem\w{0,40}\W+(?:\w+\W+){0,3}?(?:solve\w*|lost|resuelve\w*|resou\w*)"
    r"|проблем\w{0,40}\W+(?:\w+\W+)?реша\w*|問題を解決|解[决決]了?(?:什么|什麼|哪些)[问問][题題]"
    r"|\bfeatures?(?=\W+(?:do(?:es)?|of)\W+(?:this|the|your|our)\W+(?:app|lib|pro[gj]|repo|tool)))"
    r"|(?P<has>\bhat(?=\W+(?:das|dieses?)\b)|\bwhat(?:\W?s|\W+is)\W+inside\b)"
    r"|(?P<parts>\b(?:moving\W+parts|building\W+blocks|(?:key|core|central|main|major|essential)\W+(?:\w+\W+)?"
    r"(?:(?:part|piece|component|module|package|concept|idea|abstraction|layer|subsystem|folder)s|classes)"
    r"|(?:modul|component|composant|part|element|pie[cz]|bri[cq]u?|clas)\w{0,6}\W+(?:clave|cles?|esencial\w*|essentiel\w*)"
    r"|(?:haupt|kern|grund|gesamt|projekt|software|code)"
    r"(?:komponente|modul|bestandteil|baustein|teil|architektur|struktur|aufbau|konzept|paket|klasse)\w{0,3})\b)"
    r"|(?P<overview>\b(?:bird\W?s\W?eye|mental\W+model|lay\W+of\W+the\W+land|grandes\W+(?:lignes|rasgos)"
    r"|orient\W+(?:me|us)|visite\W+guidee|presente[rz]?\W+(?:le|la|ce|moi|nous)|under\W+the\W+hood)\b|общих\W+чертах"
    r"|\b(?:onboarding|guided|outline|breakdown|rundown|primer|introduction|orientation)"
    r"(?=\W+(?:tour|overview|of|to|for)\b\W+(?:(?:of|to|the|this|your|our|a)\W+)*(?:app|lib|newcomer|pro[gj]|repo|tool|code)))"
    r"|(?P<newcomer>\bnew\W+(?:to\W+(?:the|this|your)\W+(?:team|company)|(?:dev|engineer|contributor|hire|joiner"
    r"|colleague|team\W?mate|team\W+member|maintainer)\w{0,6})\b|\bjust\W+join\w*(?:\W+(?:the|this|your)\W+(?:team|company))?"
    r"|\b(?:neue\w?\W+(?:entwickler|mitarbeiter|kolleg|teammitglied)|nouve(?:l|au|aux)\W+(?:arrivant|developpeur|venu)"
    r"|debutant|recien\W+llegad|nuev\w+\W+(?:desarrollador|colaborador))\w{0,4}"
    r"|\bнов\w+\W+(?:разработчик|участник|сотрудник)\w{0,3})"
    r"|(?P<project>\b(?:the|this|your)\W+(?:(?:whole|entire|overall)\W+)?system"
    r"(?=\W*$|[,.;:?!]|\W+(?:and|as|at|built|do|fit|hang|is|made|organi|run|start|structur|work)\w*))"
    r"|(?P<show>\bguide(?=\W+(?:me|us)\b)|\b(?:fit|hang|spiel)\w{0,2}(?=\W+(?:\w+\W+){0,3}(?:together|zusammen)\b))"
    r"|(?P<tests>\bunit\W?tests?\b(?:\Wsuite\b)?|\btest\Wsuites?\b)|(?P<setup>\bdev(?:elopment)?\W+(?:environment|server)\b)"
    r"|(?P<run>\bcommands?(?=\W+(?:(?:do|should|i|we|you|use|need|to)\W+)*(?:build|execute|install|run|start)s?\W+"
    r"(?:all|it|its|my|our|tests?|the|this|your)\b))"
)
_RUN = re.compile(r"(?P<unspaced>[\u30a1-\u30fa\u30fc\u3400-\u9fff]+)|[\u3041-\u309f]+|[^\W\u3041-\u9fff]+")

TOPICS = {
    "purpose": """do does about purpose goal aim overview summar* explain* explanation describ* description introduc*
        work works tour picture solves solution gist macht dient tut zweck sinn ziel ueberblick uberblick ubersicht
        zusammenfass* fass* erklar* beschreib* funktionier* hace sirve trata proposito objetivo resum* vision explic*
        funciona* fait sert parle but objectif apercu expli* decri* marche fonctionne* дела* умеет назначени* цел*
        обзор* опиш* опис* объясн* расскаж* кратк* работа* 説明 概要 要約 目的 役割 仕組 動 何 做 什么 什麼 干什么
        介绍 介紹 panoram* funktionsweise einfuhrung rundgang recorrido познаком* введени* 概観 俯瞰 紹介
        案内 ツアー 概括 概况 概況 全貌 讲解 講解 梳理
        导览 導覽 导读 解释 解釋 概述 概览 概覽 总结 總結 简介 簡介 作用 用途 功能 原理 工作 agit""",
    "start": """start starts started starting begin* entry entrypoint* launch* boot* execut* einstieg* einsprung*
        anfang* fang* beginn* gestartet starte* lauf* ausfuhr* ausgefuhr* empieza* empez* comienz* comenz* inicia*
        inicio empiezo arranc* arranque entrada punto ejecut* commenc* debut* demarr* lanc* entree нача* начин*
        запус* вход* выполн* точк* 始 開始 起動 実行 入口 エントリ エントリー ポイント 开始 启动 啟動 运行 運行 点 點
        执行 執行 読 跑 走 lasse*""",
    "build": """build building builds built compil* test tests tested testing install* set setup deploy* run runs
        running configur* develop* contribut* dependenc* bau* gebaut kompilier* ubersetz* test* getestet installier*
        einricht* eingerichtet entwick* konfigur* abhangig* constru* prueb* proba* instal* despleg* dependencia*
        собра* собир* сборк* тест* тестир* протестир* устан* зависимост* настро* разверн* ビルド テスト コンパイル
        インストール セットアップ デプロイ 设定 設定 构建 構建 编译 編譯 测试 測試 安装 安裝 部署 配置 设置
        依赖 依賴 依存関係 dependanc* prerequisite*""",
    "parts": """module modules part parts component* packages piece pieces layer layers subsystem* folder folders
        director* structur* organi* layout laid architect* design* stack technolog* framework* language* modul* teil*
        bestandteil* komponente* pakete* ordner verzeichnis* aufbau* aufgebaut struktur* gliedert gegliedert schicht*
        parte* componente* carpeta* directorio* estructur* arquitect* organiza* modulo* partie* composant* dossier*
        repertoire* модул* част* компонент* папк* каталог* директор* структур* архитектур* устро* организ* モジュール
        部分 部品 コンポーネント フォルダ フォルダー ディレクトリ 構成 構造 アーキテクチャ 設計 模块 模組 模塊 组件
        組件 目录 目錄 文件夹 结构 結構 架构 架構 组织 組織 组成 組成 技术 技術 architekt*
        baustein* gliedern brique* pieza* clases составн* 要素 设计 脉络 脈絡 层次 層次""",
}
PROJECT = """this app apps application* code codebase* source library package program project* repo repos repositor*
    software tool workspace hier dies diese* projekt* quellcode programm* anwendung* bibliothek* paket werkzeug esto
    este proyecto* repositorio* codigo programa* aplicacion* biblioteca* libreria* paquete herramienta* ca ceci
    projet* depot programme* bibliotheque* librairie* paquet logiciel outil это этот проект* репозитор* репо код*
    программ* приложени* библиотек* пакет* プロジェクト リポジトリ コード コードベース アプリ アプリケーション
    ライブラリ パッケージ プログラム ソフトウェア ソフト ツール 这 這 这个 這個 项目 項目 專案 仓库 倉庫 代码 代碼
    程序 程式 应用 應用 库 庫 软件 軟體 工具"""
_OTHER = """few sentences m ve bin neu lesen zusammen fuhr* archivo* soy nuev* leer corr* suis nouveau nouvelle
    lecture lire phrases новичок читать перв* ファイル 初 ソース ソースコード 全体像 知 最先 新手 看 样 樣 какую
    каковы a all an and any are as at base be been beginner basically big briefly by can could did doing done each
    every everything exactly file files first for from general get give go going good have has hello help here hi
    high how i in into is it its kind know let level like main make makes made many me my need new newcomer of on one
    or order our out over put please point quick quickly s short should show so t tech tell thank thanks that the
    their them there these they thing things through to together top understand up us use used user users using walk
    want was way we what* where* which who whole why will with would you your again exist contain contains consist
    consists look find read reading see most important step steps locally machine alle alles als am auf aus bei beim
    besten bitte da das dem den denn der des die du ein eine einem einen einer er erste* es etwas fur ganze* geht
    genau gibt gut haupt* ich ihr im ist kann kannst kurz mal man mir mit muss nutz* oder soll sind uber um und uns
    verwende* vom von wann war warum welch* wer werden wie wird wo woher wofur womit worum wozu zu zuerst zum zur
    wichtig* gehor* besteht datei* lokal gib gebe geben welche aqui bien como con cosa cual cuales cuando dame de
    debo del donde el ella en esa ese eso esta estan estas estos favor hacer hacen hay la las lo los mas mi mis nos o
    para podria por primero puede puedes puedo que quien se ser si son su sus tiene tienen toda todas todo todos un
    una unas uno unos y yo al archivos usar usa principal* necesito au aux avec ce ces cet cette comment d dans dois
    doit elle ensemble est et etre donne donnez faire faut ici il ils j je l le les ma moi mon nous ou par peut peux
    plait plus pour pourquoi premier puis qu quand quel* quels qui quoi sa sert ses sont sur te tous tout toute
    toutes tu une utilise* vous vue principa* fichier* general* generale* бы в весь все всё вы где даи для его ее
    есть и из или к как какая какие каких какой каков какова ли лучше мне можно мы на надо нам нем них нужно о об он
    она они оно откуда по пожалуйста с сначала со состоит тебя так то тут у файл* чего чем через что эта эти этим
    этого этом этой я находит* главн* основн* объяснить делает здесь какого 方 方法 使 使用 全体 最初 主 主要 教 下
    中 全 行 書 作 読 知 的 是 有 个 個 哪 哪些 哪里 哪裡 哪儿 里 裡 从 從 在 怎么 怎麼 怎样 怎樣 如何 为 為 请 請 给
    給 我 我们 我們 一下 和 與 与 及 以及 吗 嗎 呢 了 上 能 可以 要 想 应该 應該 会 會 进行 進行 被 所 都 整个 整個
    整体 整體 该 該 此 本 它 由 包 包含 用 干 文件 第一 步 简单 簡單 unitaire* unitari* нуж* про
    newcomers newbie* overall overview* guide rough roughly essential entire broad* fully einsteiger* neuling* neue
    neuen neuer neues grob grobe groben essentiel essentielle essentiels essentielles gesamt* wesentlich* zentral*
    verschaff* versteh* orientier* sich ins jemand* vogelperspektive globale* haut haute niveau quelqu fais dale
    arrivant arrivants arriver comprendre decouvr* principiante* novato* alto nivel entender comprender esencial*
    новичк* новеньк* общ* ключев* важн* высокоуровнев* верхн* уровн* понят* разобрат* покаж* дайте взаимодейств*
    人 向 大 像 新 新人 初心者 初学者 入門 重要 把握 理解 高 ハイレベル 核心 中心 コア メイン 心 要点 流 整体 高层 高層
    关键 關鍵 总体 總體 宏观 宏觀 大致 大概 了解 熟悉 快速 上手 入门 入門 刚 剛 加入 讲 講 说 說 明 各 之间 之間
    关系 關係 带 帶 让 讓 者 同事"""


def _pattern(text: str) -> re.Pattern[str]:
    plain = normalized("NFC", without_accents(text))
    known = sorted(set(plain.split()), key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(known)})".replace("*", r"\w{0,6}"))


_TOPIC = {topic: _pattern(text) for topic, text in TOPICS.items()}
_SUBJECT = _pattern(" ".join([PROJECT, *TOPICS.values()]))
_KNOWN = _pattern(" ".join([PROJECT, _OTHER, *TOPICS.values()]))
_LONGEST = max(map(len, re.findall(r"[\u3041-\u9fff]+", _KNOWN.pattern)))  # letters of a word without spaces around it


def topics_of(text: str) -> list[str]:
    """The topics that words of a text belong to, in the order of TOPICS."""
    runs = _runs(text)
    return [topic for topic, words in _TOPIC.items() if any(_occurs(words, *run) for run in runs)]


def names_nothing_else(text: str) -> bool:
    """True for words about a project as a whole, of which at least one is a topic's or means the project."""
    return says_nothing_else(text) and any(_occurs(_SUBJECT, *run) for run in _runs(text))


def says_nothing_else(text: str) -> bool:
    """True for words that any question may have, and for none."""
    return all(_made_of_known(run) if unspaced else _KNOWN.fullmatch(run) for run, unspaced in _runs(text))


def _made_of_known(run: str) -> bool:
    """True if known words follow one another to its end. `(?:…)+` would try 使用 and 使|用 anew for each in a run."""
    ends = {0}
    for at in range(len(run)):
        if at in ends:
            ends.update(at + size for size in range(1, _LONGEST + 1) if _KNOWN.fullmatch(run, at, at + size))
    return len(run) in ends


def says_nothing(text: str) -> bool:
    """True for words that any question may have, but none about how the project starts, is built or is made up."""
    return says_nothing_else(text) and set(topics_of(text)) <= {"purpose"}


def names_project(text: str) -> bool:
    """True if a word means the project."""
    return any(_occurs(_PROJECT, *run) for run in _runs(text))


_PROJECT = _pattern(PROJECT)


def _occurs(words: re.Pattern[str], run: str, unspaced: bool) -> bool:
    return bool(words.search(run) if unspaced else words.fullmatch(run))


def _runs(text: str) -> list[tuple[str, bool]]:
    """Runs of letters in lower case without accents; True for those of a script without spaces. No hiragana."""
    plain = _PHRASES.sub(lambda phrase: str(phrase.lastgroup), normalized("NFC", without_accents(text)).casefold())
    found = ((match[0], match["unspaced"] is not None) for match in _RUN.finditer(plain))
    return [(run, unspaced) for run, unspaced in found if not "\u3041" <= run[0] <= "\u309f"]
