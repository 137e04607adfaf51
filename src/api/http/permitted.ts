/** Judges the caller by the table. */
import { callerOf, type Handler } from './context.ts';
import { forbidden } from '../errors.ts';
import { refusal, type Access } from './access.ts';

export const permitted = (access: Access): Handler =>
  function judgeByTable(ctx, next) {
    const refused = refusal(access, callerOf(ctx));
    if (refused !== null) throw forbidden('no-permission', refused);
    return next();
  };
