"""Know the words of messages: which to leave out, which to count less, and which are related.

The tables are a small model of how people write to a chat; none of them is made from a set of labelled messages.
"""

from __future__ import annotations

_STOP_WORDS = {
    "English": """
        a about above after again all also am an and any anyone anything are aren as at be because been
        before being both but by can cannot could couldn did didn do does doesn doing don done down each
        either else etc ever every few for from get gets getting give given goes going got had hadn has hasn
        have haven having he her here hers him his how however i if im in into is isn it its itself ive just
        let lets like ll may maybe me might mine more most much must my myself need needs no nor not now of
        off ok okay on once one only onto or other our ours out over own per please pls quite rather re
        really s same shall she should so some something still such t than thank thanks that the their them
        then there these they this those though through to too under until up upon us use used uses using ve
        very via want wants was wasn we well were weren what whatever when where whether which while who
        whom whose why will with within without won would wouldn yes yet you your yours yourself hi hello
        hey help helps thx lol kinda bc u ur cant dont didnt doesnt isnt wont
    """,
    "German": """
        der die das den dem des ein eine einen einem einer eines und oder aber ich du er sie es wir ihr mir
        mich dir dich uns euch ist sind war waren bin bist sein haben hat habe hatte wird werden wurde kann
        kannst können könnte mit von vom zu zum zur für auf aus bei im in ins am an nicht kein keine auch
        noch nur so wie was wer wo wenn dass daß bitte hier etwas mein meine meinen diese dieser dieses man
        irgendwas
    """,
    "French": """
        le la les un une des du de et ou mais je tu il elle on nous vous ils elles mon ma mes ton ta tes son
        sa ses notre votre leur est sont était être avoir as avons avez ont ce cet cette ces que qui quoi
        dont où ne pas plus pour par avec sans sur dans au aux en y se si me te lui comment pourquoi aussi
        très bonjour merci
    """,
    "Spanish": """
        el los las una unos unas y o pero yo tú él ella nosotros ellos mi mis tu tus su sus es son era ser
        estar está están he ha han tengo tiene que qué quién cómo dónde cuándo no sí para por con sin sobre
        en del al lo le se me te nos este esta esto estos estas ese esa muy también más hola puedes quiero
    """,
    "Italian": """
        il lo gli i uno una e ed o ma io tu lui lei noi voi loro mio mia tuo suo è sono era essere avere ho
        hai ha abbiamo hanno che chi cosa come dove quando perché non più per con senza su nel nella del
        della dei delle al alla di da si mi ti ci vi questo questa molto anche puoi vorrei ciao
    """,
    "Portuguese": """
        o as um uma uns umas e ou mas eu tu ele ela nós eles meu minha seu sua é são era ser estar está
        tenho tem que quem como onde quando por porque não sim mais para com sem sobre em no na nos nas do
        da dos das ao à se me te isto isso este esta muito também você preciso olá
    """,
    "Dutch": """
        de het een en of maar ik jij je hij zij ze wij we jullie mijn jouw zijn haar ons onze is was waren
        ben heb heeft hebben had wordt worden kan kunnen moet met van voor op uit bij aan in te om niet geen
        ook nog zo hoe wat wie waar wanneer dat die dit deze er
    """,
    "Swedish": """
        och eller men jag du han hon den det vi ni de min din sin är vara har hade kan ska med utan på för
        till från av i om inte också hur vad vem som när att en ett
    """,
    "Polish": """
        i lub albo ale ja ty on ona ono my wy oni mój twój jest są był być mam ma mieć że co kto jak gdzie
        kiedy nie tak dla do z ze w we na po od przez o się to ten ta te mi
    """,
    "Russian": """
        и или но я ты он она мы вы они мой твой это как что кто где когда не да для до из с в на по от о к у
        за же бы был была быть есть мне его её их то
    """,
    "Turkish": """
        ve veya ama ben sen o biz siz onlar bu şu bir için ile de da mi ne nasıl gibi çok daha yok
    """,
}
STOP_WORDS = frozenset(" ".join(_STOP_WORDS.values()).split())
"""Words that are not searched beside others, in eleven languages."""

_EVERYDAY_WORDS = """
    actually add again ago already always another anybody around ask asked asks away back bad based become began
    begin behind best better big bit boss bring broken bunch buy call called came case change changed changes
    check clear clue come comes company correct couple create day days different do easy eight end enough even
    everybody everyone everything example fact far feel fifty find fine first five fix fixed forty found four
    friday friend full fun go goes going good great guess guy guys half hand hard hear hold home honestly hour
    hours hundred idea important instead kind knew know knows large last late later least leave left less life
    line little long look looked looking looks lot lots made main make makes making many mean means million
    minute minutes monday money month months morning name never new next nice night nine nobody nothing number
    old open order part pass past people person place point possible pretty problem problems properly put
    question questions quick quickly ran read ready real reason remember right run said sat saturday saw say
    says second see seem seems seen sense set seven several short show shows side simple since single six small
    somebody someone sometimes somewhere soon sort start started starting stay stop stuff stupid sunday super
    supposed sure take taken takes talk team tell ten thing things think third thirty thought thousand three
    thursday time times today together told tomorrow took top totally tried true try trying tuesday turn twelve
    twenty twice two under understand unless useful usual usually wait way wednesday week weekend weeks went
    whole wish wonder word words work worked working works world worse worst wrong year years yesterday zero
"""
EVERYDAY_WORDS = frozenset(_EVERYDAY_WORDS.split())
"""Words of nearly every conversation in English."""

_COMMON_WORDS = """
    able access according across act action actual address afternoon agree allow almost alone along although
    amount answer answers apart app apparently appear application approach area argue arrive asking attention
    available average avoid aware basic basically basis bed beginning believe below beside besides between
    bigger bored boring bought break bright brother building built busy button car care careful carefully cause
    certain chance cheap child children choose city class close code colleague colleagues collection common
    complete completely complicated computer concerned connect consider contain contains continue control copy
    cost could crazy current currently customer cut dad data date deal dear decide decided deep depends describe
    desk details did difference difficult direct directly door doubt drive dropped due during early easier
    effect email ended entire equal especially evening event eventually everywhere exact exactly except expect
    expected expensive explain extra eye eyes face fail fails fair fall family fast father feature feeling felt
    figure file files final finally finish finished fit folder follow following food force forget forgot form
    forward free front future game gave general generally girl glad group grow happen happened happens happy
    hate head heard heart hell high hit holiday hope hot house huge human hurt imagine immediate immediately
    improve include included including inherited inside intend interest interested interesting internal internet
    issue items job join keep keeps kept key kid kids killed kitchen lady language laptop laugh learn learned
    legal letter level light likely list listen live lives local lose lost loud love low luck lucky machine mail
    man manage management manager matter meant meanwhile meet meeting mention mess message messy middle mind
    miss missing mistake moment mother move moved nearly necessary nervous news none normal normally note notice
    obvious obviously offer office often older ones online opinion option original otherwise outside page paid
    paper particular party pay perfect perhaps phone pick picture piece plain plan play plenty plus poor popular
    position post power prefer present previous probably process product project promise proper prove provide
    public pull purpose push quarter quiet random reach reading realise realize reasonable received recent
    recently regular related release remain remove reply rest result results return room round rule running safe
    sake save scared sceptical school screen search send sent serious seriously serve service share shop shown
    sick sign similar simply sister site sitting situation size skeptical sleep slow slowly smart somehow
    something sorry sound sounds space speak special specific spend spent stand standing state step steps stick
    stopped story straight strange strong suddenly suggest suppose surely system table task teach terrible test
    text themselves thinking threw throw till tired title touch touched towards track trouble trust turned type
    types understood unfortunately update urgent user users value various version view visit walk wanted watch
    weird welcome white woman won wonderful worry worth write writing written wrote yeah yep young
"""
COMMON_WORDS = frozenset(_COMMON_WORDS.split())
"""Words of many conversations in English."""

_RELATED_WORDS = """
    k8s kubernetes kubectl; postgres postgresql psql; js javascript; ts typescript; py python; golang go; docx
    word; xlsx excel spreadsheet workbook; pptx powerpoint slides deck presentation; a11y accessibility wcag
    blind; i18n internationalization localization translation translate; l10n localization; ci pipeline; db
    database; repo repository; auth authentication login signin; passkey fingerprint passwordless; cv resume;
    job career hiring application; lawyer legal attorney; contract agreement lease clause; nda confidentiality;
    invoice bill billing; bookkeeping accounting ledger; receipt expense; budget spending; salary pay wage
    compensation; cost price pricing expensive; money finance financial cash; investor fundraising pitch; stock
    portfolio trading; photo picture image; film movie video clip; sound audio recording; transcript
    transcription transcribe subtitle caption; mail email inbox; spam deliverability; newsletter subscriber;
    chat conversation dialogue; bug defect fault; debug debugging diagnose troubleshoot; crash hang freeze; slow
    performance speed latency fast; outage incident downtime; postmortem retrospective blameless; test testing;
    flaky intermittent; deploy deployment hosting host publish; server backend; website webpage site; frontend
    ui interface; css styling stylesheet; mobile phone smartphone; ios iphone swift; android kotlin; docker
    container image; cloud aws azure gcp; secret password credential key token; leak leaked exposed; hack attack
    exploit vulnerability pentest; malware virus; encrypt encryption tls ssl; privacy gdpr; license licence;
    docs documentation; readme overview; commit git; branch checkout worktree; merge conflict; diagram flowchart
    chart; graph plot chart visualization; dashboard kpi metric; table dataframe; csv tabular; sql query; etl
    pipeline; forecast predict prediction; significance statistics statistical; paper manuscript article; thesis
    dissertation latex; reference citation bibliography; study trial; dna gene genome sequence; protein amino;
    drug molecule compound chemistry; map geographic spatial gis; story novel fiction; speech toast; poem
    lyrics; song music melody chord; game gaming; card flashcard; lesson teaching classroom pupil student; exam
    quiz; trip travel itinerary vacation; recipe cooking meal menu food; workout fitness exercise; sleep
    insomnia; garden plant vegetable; meeting minutes; plan planning roadmap; spec specification requirements;
    ticket issue jira; customer client; complaint refund angry; sales prospect lead outreach; seo google
    ranking; ad advertising campaign; brand logo; font typography; color colour palette; icon svg; shop store
    ecommerce; payment checkout card; subscription recurring churn; scrape scraping crawl crawler; bot chatbot;
    agent assistant; llm gpt claude; prompt instruction; rag retrieval embedding; finetune lora; gpu cuda; cache
    caching; queue message; retry retries backoff; thread concurrency parallel goroutine; memory leak ram; log
    logging logs; trace tracing span; alert monitoring grafana; microservice monolith; legacy modernize
    migration; upgrade update bump; regex pattern; shell bash script; cron schedule scheduler nightly; zigbee
    automation; print 3d cad; binary executable disassembly; blockchain crypto; glossary terminology vocabulary;
    questionnaire survey; brainstorm idea; review feedback; animation animate animated; poster print
    illustration; gif animated
"""
RELATED_WORDS = tuple(group.split() for group in _RELATED_WORDS.split(";"))
"""Words that people use for the same thing; each of a group counts a little where another one is asked for."""
