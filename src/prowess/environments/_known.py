"""Tables: which package has a Python module, and which package of Debian has a program.

A module's own name is never taken for that of a package, because anyone can publish under a free name: `scripts` on
PyPI is the package of another author. For a module that is not in the table nothing is installed.
"""

from __future__ import annotations

_SAME_NAME = """
    accelerate aiofiles aiohttp altair anndata anthropic anyio arviz backoff bioservices bitsandbytes bokeh
    boto3 cairosvg chardet click cobra colorama cryptography cvxpy dash dask datamol datasets deepchem
    defusedxml diffusers docxtpl drugbank_downloader duckdb einops email_validator fastapi
    fastmcp flask geopandas gget gradio
    graphviz gymnasium h5py html2text html5lib httpx huggingface_hub imageio imageio_ffmpeg jinja2 joblib
    jsonschema langchain langgraph lifelines lightgbm lightning litellm loguru lxml markdown markdownify
    markitdown matplotlib mcp medchem mido mistune mpmath msgpack mutagen networkx nltk numba numpy openai
    openpyxl opentrons orjson pandas pathspec patchright peft pexpect pikepdf playwright plotly polars
    prettytable probeinterface psutil psycopg pubchempy pufferlib pyarrow pydantic pydeseq2 pydicom pydub
    pygments pymatgen pymc pymongo pymoo pypandoc pypdf pypdfium2 pyperclip pytesseract pytest qrcode
    rapidfuzz rdkit redis regex reportlab requests rich safetensors scanpy scholarly scipy seaborn selenium
    sentence_transformers sentencepiece simpy six soundfile spacy spikeinterface sqlalchemy stable_baselines3
    statsmodels streamlit structlog sympy tabulate tenacity tiktoken timm toad tomli tomlkit toml torch
    torch_geometric torchaudio torchvision tqdm trafilatura transformers trl typer urllib3 uvicorn wandb
    weasyprint websockets wordcloud xarray xgboost xlrd xlsxwriter xmltodict yfinance zeep zstandard
"""
DISTRIBUTIONS = {name: name.replace("_", "-") for name in _SAME_NAME.split()} | {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "IPython": "ipython",
    "Levenshtein": "levenshtein",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "PyPDF2": "pypdf2",
    "attr": "attrs",
    "attrs": "attrs",
    "bs4": "beautifulsoup4",
    "chembl_webresource_client": "chembl-webresource-client",
    "cv2": "opencv-python-headless",  # the same module as `opencv-python`, without what needs a screen
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "ebooklib": "ebooklib",
    "ffmpeg": "ffmpeg-python",
    "fitz": "pymupdf",
    "fontTools": "fonttools",
    "frontmatter": "python-frontmatter",
    "git": "gitpython",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mp_api": "mp-api",
    "mpl_toolkits": "matplotlib",
    "msoffcrypto": "msoffcrypto-tool",
    "mssql_python": "mssql-python",
    "nacl": "pynacl",
    "odf": "odfpy",
    "pdf2image": "pdf2image",
    "pdfminer": "pdfminer.six",
    "pdfplumber": "pdfplumber",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pymupdf": "pymupdf",
    "pytorch_lightning": "pytorch-lightning",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "tdc": "pytdc",
    "telegram": "python-telegram-bot",
    "umap": "umap-learn",
    "usb": "pyusb",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Python modules, and the packages of PyPI that have them."""

_PACKAGES = """
    Rscript=r-base-core aws=awscli cargo=cargo convert=imagemagick curl=curl docker=docker.io dot=graphviz
    exiftool=libimage-exiftool-perl ffmpeg=ffmpeg ffprobe=ffmpeg gh=gh git=git go=golang-go gs=ghostscript
    identify=imagemagick inkscape=inkscape java=default-jre jq=jq latex=texlive-latex-base
    libreoffice=libreoffice lualatex=texlive-luatex make=make node=nodejs nodejs=nodejs npm=npm npx=npm
    pandoc=pandoc pdfimages=poppler-utils pdfinfo=poppler-utils pdflatex=texlive-latex-base
    pdftocairo=poppler-utils pdftoppm=poppler-utils pdftotext=poppler-utils pdfunite=poppler-utils perl=perl
    php=php-cli potrace=potrace qpdf=qpdf rg=ripgrep rsvg-convert=librsvg2-bin ruby=ruby soffice=libreoffice
    sox=sox sqlite3=sqlite3 tesseract=tesseract-ocr tree=tree unzip=unzip wget=wget wkhtmltopdf=wkhtmltopdf
    xelatex=texlive-xetex xmllint=libxml2-utils zip=zip
"""
PROGRAM_PACKAGES = dict(pair.split("=") for pair in _PACKAGES.split())
"""Programs, and the packages of Debian 12 that have them."""

PROGRAM_PAGES = {
    "az": "https://learn.microsoft.com/cli/azure",
    "bun": "https://bun.sh",
    "deno": "https://deno.com",
    "dotnet": "https://dotnet.microsoft.com",
    "gcloud": "https://cloud.google.com/sdk",
    "helm": "https://helm.sh",
    "kubectl": "https://kubernetes.io",
    "pnpm": "https://pnpm.io",
    "pwsh": "https://learn.microsoft.com/powershell",
    "terraform": "https://developer.hashicorp.com/terraform",
    "uv": "https://docs.astral.sh/uv",
}
"""Programs that Debian 12 has no package of, and the pages that say how to install them."""
