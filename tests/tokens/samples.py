"""Short texts of many kinds, written for these tests."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "English": (
        "The parcel left the warehouse on Tuesday morning and should have been with you by now. I asked the carrier what "
        "happened, and they told me that the driver could not find the entrance of your building. Would you like us to "
        "try again tomorrow between nine and twelve, or shall we leave it at the post office around the corner?"
    ),
    "short English": "Where is my parcel?",
    "German": (
        "Die Lieferung hat das Lager am Dienstag verlassen und müsste längst bei Ihnen sein. Der Fahrer konnte den Eingang "
        "nicht finden; sollen wir es morgen zwischen neun und zwölf Uhr noch einmal versuchen?"
    ),
    "French": (
        "Le colis a quitté l'entrepôt mardi matin, mais le chauffeur n'a pas trouvé l'entrée de votre immeuble. "
        "Préférez-vous une nouvelle livraison demain, ou le retirer au bureau de poste ?"
    ),
    "Vietnamese": "Gói hàng đã rời kho vào sáng thứ ba nhưng tài xế không tìm thấy lối vào tòa nhà của bạn.",
    "Chinese": "包裹星期二早上已经离开仓库,但是司机没有找到您那栋楼的入口。您希望我们明天上午再送一次,还是放在街角的邮局?",
    "Japanese": "荷物は火曜日の朝に倉庫を出ましたが、運転手が建物の入り口を見つけられませんでした。明日の午前中にもう一度お届けしましょうか。",
    "Korean": "소포는 화요일 아침에 창고를 떠났지만 기사님이 건물 입구를 찾지 못했습니다. 내일 오전에 다시 배송해 드릴까요?",
    "Hindi": "पार्सल मंगलवार की सुबह गोदाम से निकल गया था, लेकिन ड्राइवर को आपकी इमारत का दरवाज़ा नहीं मिला। क्या हम कल फिर कोशिश करें?",
    "Thai": "พัสดุออกจากคลังสินค้าเมื่อเช้าวันอังคาร แต่คนขับหาทางเข้าอาคารของคุณไม่พบ",
    "Arabic": "غادر الطرد المستودع صباح يوم الثلاثاء، لكن السائق لم يجد مدخل المبنى الخاص بك. هل نحاول مرة أخرى غدا قبل الظهر؟",
    "Hebrew": "החבילה יצאה מהמחסן ביום שלישי בבוקר, אבל הנהג לא מצא את הכניסה לבניין שלכם.",
    "Russian": (
        "Посылка покинула склад во вторник утром, но водитель не нашёл вход в ваше здание. "
        "Попробовать ещё раз завтра до обеда?"
    ),
    "Greek": "Το δέμα έφυγε από την αποθήκη την Τρίτη το πρωί, αλλά ο οδηγός δεν βρήκε την είσοδο του κτιρίου σας.",
    "emoji": "📦🚚💨 🎉🎉 😀😂🥲 👍🏽 🇩🇪🇫🇷 ❤️✅🔥🙏 👩‍💻",
    "English with emoji": "Your parcel is on its way 📦🚚 and should be there by noon 🎉 Thanks for waiting 🙏",
    "Python": (
        "def room_beside(window: Window, limit: int) -> int:\n"
        '    """Return the tokens that are left."""\n'
        "    taken = sum(entry.tokens for entry in window if entry.kind != 'stub')\n"
        "    if taken > limit:\n"
        "        raise ValueError(f'{taken} > {limit}')\n"
        "    return limit - taken\n"
    ),
    "JSON": (
        '{"order": {"id": "A-20931", "items": [{"sku": "bolt-m8", "count": 40, "price": 0.35}, {"sku": "nut-m8", '
        '"count": 40, "price": 0.12}], "paid": true, "shipped_at": "2024-03-05T08:15:00Z", "note": null}}'
    ),
    "numbers": "1204.55, 1310.20, 998.01, 1002.77, 1455.00, 1399.99, 20240305, 20240306, 20240307",
    "table": "| day | parcels | late |\n| --- | ------- | ---- |\n| Mon | 120 | 3 |\n| Tue | 98 | 11 |\n| Wed | 143 | 0 |\n",
    "log": (
        "2024-03-05 08:15:00,123 WARNING carrier.api: timeout after 3000 ms (attempt 2/5) url=/v2/track?id=9F3A77C0\n"
        "2024-03-05 08:15:04,871 INFO carrier.api: 200 OK in 512 ms\n"
    ),
}
"""Kind of text → text."""
