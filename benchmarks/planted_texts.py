"""Sentences to plant into chats: what the user asks for, prefers or tells, and what the two of them decide.

Two sets, which share no phrasing. Patterns may be written for FITTED and looked at there; HELD_OUT was written before
any pattern and is only measured: which of its sentences are lost is not looked at.

Of a pair in REPLACED only the newer sentence has to stay.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Kind = Literal["rule", "preference", "decision", "fact"]
Speaker = Literal["user", "assistant"]


class Planted(Struct, frozen=True):
    """A sentence with who says it; the one it replaces was said earlier."""

    kind: Kind
    speaker: Speaker
    language: str
    text: str
    replaces: str = ""


def _all(kind: Kind, speaker: Speaker, language: str, *texts: str) -> list[Planted]:
    return [Planted(kind, speaker, language, text) for text in texts]


HELD_OUT: Final = [
    *_all(
        "rule", "user", "en",
        "Under no circumstances may the draft mention the Halvorsen merger.",
        "Every figure you give me has to carry its source in brackets.",
        "Leave the chapter titles alone, whatever else you rewrite.",
        "I don't want to see the word 'synergy' anywhere in this text.",
        "Make sure all times are in Lisbon time.",
        "Refrain from giving medical advice to Mr. Okafor.",
        "Going forward, each reply should end with one open question.",
        "No emojis, no exclamation marks.",
        "Only use ingredients that are free of gluten.",
        "Whenever you quote a price, add VAT of 23 percent.",
    ),
    *_all(
        "rule", "user", "de",
        "Ab sofort bitte alle Beträge in Franken angeben.",
        "Den Namen der Klinik darfst du nirgends erwähnen.",
        "Achte darauf, dass kein Absatz mehr als vier Sätze hat.",
    ),
    *_all(
        "rule", "user", "fr",
        "N'utilise jamais le mot « projet » dans la lettre.",
        "Dorénavant, réponds-moi en moins de cinquante mots.",
    ),
    *_all(
        "rule", "user", "es",
        "A partir de ahora quiero las fechas con el año primero.",
        "No menciones a la empresa Vidal en ningún caso.",
    ),
    *_all("rule", "user", "zh", "从现在起所有金额都用人民币表示。", "千万不要提到客户王立军的名字。"),
    *_all(
        "preference", "user", "en",
        "I'd rather have bullet points than long paragraphs.",
        "A window seat suits me better than the aisle.",
        "I can't stand coriander, so keep it out of the menu.",
        "Short answers work best for me.",
        "My favourite colour for the charts is teal.",
        "I like it when examples come before the theory.",
    ),
    *_all("preference", "user", "de", "Mir sind Züge lieber als Flüge."),
    *_all("preference", "user", "fr", "Je préfère les hôtels du quartier Montorgueil."),
    *_all("preference", "user", "es", "Me gusta más el turno de la mañana."),
    *_all("preference", "user", "zh", "我比较喜欢靠窗的座位。"),
    *_all(
        "decision", "user", "en",
        "OK, let's take the second option, the cabin near Røros.",
        "That settles it: we publish on the 14th of March.",
        "We'll stay with Postgres for the archive.",
    ),
    *_all("decision", "user", "de", "Gut, dann nehmen wir den Tarif Komfort 300."),
    *_all("decision", "user", "fr", "C'est décidé, on part de Nantes le 6 mai."),
    *_all("decision", "user", "es", "De acuerdo, nos quedamos con el proveedor Iberlux."),
    *_all("decision", "user", "zh", "好的，那就定在五月八号出发。"),
    *_all(
        "decision", "assistant", "en",
        "Agreed, the workshop moves to the Lindqvist hall.",
        "So the plan is settled: three sessions of 45 minutes, on Tuesdays.",
        "Noted, I will keep every reply under 120 words.",
        "We are going with the blue cover and the serif font.",
        "Understood: the budget is capped at 7,400 euros.",
        "As agreed, chapter 4 is written from Maren's point of view.",
    ),
    *_all("decision", "assistant", "de", "Alles klar, wir bleiben also bei der Wärmepumpe von Stiebel."),
    *_all("decision", "assistant", "fr", "C'est noté, je garderai le vouvoiement dans tous les courriels."),
    *_all("decision", "assistant", "es", "Entendido, la reunión queda fijada para el jueves a las 16:30."),
    *_all("decision", "assistant", "zh", "明白了，预算就按八千元来安排。"),
    *_all(
        "fact", "user", "en",
        "Our contract number is KV-20871-B.",
        "My daughter Ilse is allergic to penicillin.",
        "The landlord is called Bartholomew Quigley.",
        "We have 312 members, 40 of them under eighteen.",
        "The server room is on the fourth floor, door 4.17.",
        "I was born in Tromsø in 1987.",
    ),
    *_all("fact", "user", "de", "Unsere Kundennummer lautet 55-80931."),
    *_all("fact", "user", "fr", "Mon médecin s'appelle Solène Abadie."),
    *_all("fact", "user", "es", "La fábrica tiene 86 empleados en Zaragoza."),
    *_all("fact", "user", "zh", "我的会员号是 7730912。"),
    Planted(
        "rule", "user", "en", "Forget what I said about the tone: formal English only.",
        "Keep the tone chatty and warm throughout.",
    ),
    Planted(
        "decision", "user", "en", "Change of plan, the flight leaves from Bergen, not from Oslo.",
        "We fly from Oslo then, that is fixed.",
    ),
    Planted(
        "fact", "user", "en", "Correction: the invoice total is 1,958 dollars.",
        "The invoice total comes to 1,895 dollars.",
    ),
    Planted(
        "decision", "assistant", "en", "Right, scrap the podcast; it will be a newsletter called Tidewater.",
        "Good, then we go for a podcast called Undertow.",
    ),
    Planted("rule", "user", "de", "Doch nicht siezen: Bitte überall das Du verwenden.", "Bitte überall siezen."),
]  # fmt: skip

FITTED: Final = [
    *_all(
        "rule", "user", "en",
        "Never reveal the name of the buyer.",
        "Always write dates as day, month, year.",
        "From now on, answer in British English.",
        "Don't use more than two adjectives in a sentence.",
        "Please always give distances in kilometres.",
        "You must not change the order of the verses.",
        "Do not suggest any restaurant with more than three stars.",
        "Remember to add the reference number to each letter.",
        "Keep all paragraphs under 80 words.",
        "Avoid passive voice in the summary.",
        "Stop apologising in each answer.",
        "Ask me before you shorten the introduction.",
        "It is important that the hero is never named.",
        "Use metric units everywhere.",
        "All headings need to be in title case.",
        "The budget must not exceed 900 dollars.",
    ),
    *_all(
        "rule", "user", "de",
        "Verwende niemals den Begriff Zielgruppe.",
        "Bitte immer zuerst die Kurzfassung schreiben.",
        "Du sollst keine Anglizismen benutzen.",
    ),
    *_all(
        "rule", "user", "fr",
        "Il faut toujours citer la source.",
        "Ne propose pas de restaurant sans terrasse.",
        "À partir de maintenant, écris au présent.",
    ),
    *_all(
        "rule", "user", "es",
        "Nunca uses abreviaturas en las cartas.",
        "Debes responder siempre en una sola frase.",
        "Por favor, evita los anglicismos.",
    ),
    *_all("rule", "user", "zh", "以后请一直用简体中文回答。", "不要推荐辣的菜。", "务必在每段后面加上出处。"),
    *_all(
        "preference", "user", "en",
        "I prefer the train to the plane.",
        "I really like tables with few columns.",
        "I hate footnotes.",
        "I would love a title with a pun.",
        "Call me Theo, please.",
        "My preference is a room on the ground floor.",
    ),
    *_all("preference", "user", "de", "Ich bevorzuge kurze Listen.", "Ich mag keine Fußnoten."),
    *_all("preference", "user", "fr", "J'aime mieux les tableaux que les graphiques."),
    *_all("preference", "user", "es", "Prefiero los vuelos directos."),
    *_all("preference", "user", "zh", "我更喜欢安静的房间。"),
    *_all(
        "decision", "user", "en",
        "Let's go with the third draft.",
        "I have decided to sell the boat.",
        "We agreed on the name Marlowe for the dog.",
        "Fine, then we use the oak table.",
        "I choose the plan with 40 lessons.",
        "The final answer is the green logo.",
    ),
    *_all("decision", "user", "de", "Wir haben uns für das Haus in Plön entschieden.", "Wir machen es mit Holz."),
    *_all("decision", "user", "fr", "On choisit la formule à 45 euros."),
    *_all("decision", "user", "es", "Hemos decidido viajar en octubre."),
    *_all("decision", "user", "zh", "我们决定坐高铁去苏州。"),
    *_all(
        "decision", "assistant", "en",
        "Got it, I will always use the 24-hour clock.",
        "We decided on the Fairbanks route.",
        "From here on I'll write in the first person.",
        "Okay, so the deadline is the 9th of June.",
        "Confirmed: the party is for 26 guests at Villa Aurora.",
        "Then we'll use the recipe without eggs.",
    ),
    *_all("decision", "assistant", "de", "Verstanden, ich schreibe ab jetzt ohne Fremdwörter."),
    *_all("decision", "assistant", "fr", "Entendu, nous retenons la date du 12 juin."),
    *_all("decision", "assistant", "es", "De acuerdo, usaremos el plan de 30 días."),
    *_all("decision", "assistant", "zh", "好的，我会一直用敬语回答。"),
    *_all(
        "fact", "user", "en",
        "My sister's name is Henrike Vos.",
        "The meeting is on 17 November at 10:15.",
        "We are a company of 58 people in Ghent.",
        "I am allergic to walnuts.",
        "The order number is 4471-QX.",
        "I work as a nurse at St. Brannock.",
    ),
    *_all("fact", "user", "de", "Mein Vermieter heißt Jörn Petersen.", "Die Rechnung vom 3. Mai beträgt 418 Euro."),
    *_all("fact", "user", "fr", "Nous habitons à Quimper depuis 2011."),
    *_all("fact", "user", "es", "Mi vuelo es el IB 3166."),
    *_all("fact", "user", "zh", "我的电话是 138 0013 7799。"),
    Planted("rule", "user", "en", "Actually, use miles from now on.", "Please give all lengths in metres."),
    Planted(
        "decision", "user", "en", "I changed my mind, we take the red bricks instead.", "We take the yellow bricks.",
    ),
    Planted("fact", "user", "en", "Sorry, I meant table 12, not table 21.", "We sit at table 21."),
    Planted(
        "decision", "assistant", "en", "Okay, we replace the lecture with a panel of four.",
        "Then the lecture by Prof. Amara stays in.",
    ),
]  # fmt: skip

SETS: Final = {"fitted": FITTED, "held-out": HELD_OUT}
